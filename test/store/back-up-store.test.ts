// Backups of a store that stands still, of one that is being written, and of one that cannot be read.
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { backUpStore, readBackup } from '../../src/store/back-up-store.ts';
import { diskFiles, type Files } from '../../src/store/files.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import type { Store } from '../../src/store/store.ts';
import { emptyStoreDocument } from '../../src/store/store-document.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { readFileOf } from '../support/read-bytes.ts';
import { headRow, serverRow, textRow, writeText } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
let target: string;

beforeEach(() => {
  directory = temporaryDirectory();
  target = join(temporaryDirectory(), 'backup');
});

/** The texts that a backup holds, by name. */
async function textsIn(path: string): Promise<Record<string, string>> {
  const { document } = await readBackup(path);
  return Object.fromEntries([...document.tables.node].map(([name, { oid }]) => [name, oid]));
}

async function refusal(files: Files = diskFiles): Promise<string> {
  const error: unknown = await backUpStore(directory, target, files).then(
    () => 'it was backed up',
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  expect(readdirSync(join(target, '..'))).toEqual([]);
  return String(error);
}

describe('a backup', () => {
  it('holds every row of every kind, in a file for its owner only', async () => {
    const store = await createLowdbStore(directory);
    await store.commit([
      { kind: 'head', name: 'head', value: headRow('aaa'), expected: undefined },
      { kind: 'server', name: 'web-1', value: serverRow(), expected: undefined },
      writeText('__proto__', 'ä€😀'),
    ]);
    await store.close();
    const { document, bytes } = await backUpStore(directory, target);
    expect(document.tables).toEqual({
      ...emptyStoreDocument().tables,
      head: new Map([['head', headRow('aaa')]]),
      node: new Map([['__proto__', textRow('ä€😀')]]),
      server: new Map([['web-1', serverRow()]]),
    });
    expect(statSync(target)).toMatchObject({ size: bytes, mode: 0o100600 });
    expect(readdirSync(join(target, '..'))).toEqual(['backup']);
  });

  it('holds snapshot and journal, and changes neither', async () => {
    let store = await createLowdbStore(directory, { compactionBytes: 10 });
    await store.commit([writeText('a', 'one'), writeText('b', 'two')]);
    await store.close();
    store = await createLowdbStore(directory);
    await store.commit([writeText('b', null, store.read('node', 'b')), writeText('c', 'three')]);
    await store.close();
    appendFileSync(join(directory, 'journal'), '00000040 torn');
    const before = ['journal', 'snapshot'].map((name) => readFileSync(join(directory, name), 'utf8'));
    await backUpStore(directory, target);
    expect(await textsIn(target)).toEqual({ a: 'one', c: 'three' });
    expect(['journal', 'snapshot'].map((name) => readFileSync(join(directory, name), 'utf8'))).toEqual(before);
  });

  it('of a store without rows is one', async () => {
    await (await createLowdbStore(directory)).close();
    await backUpStore(directory, target);
    expect(await textsIn(target)).toEqual({});
  });
});

describe('beside a store that is open', () => {
  it('holds whole commits, and all that were acknowledged before, however often snapshots are written', async () => {
    const store = await createLowdbStore(directory, { compactionBytes: 3000 });
    const over = new AbortController();
    let acknowledged = -1;
    const writing = (async () => {
      for (let round = 0; !over.signal.aborted; round++) {
        await store.commit(twins(store, round));
        acknowledged = round;
      }
    })();
    for (let count = 0; count < 40; count++) {
      const least = acknowledged;
      const path = `${target}-${count}`;
      await backUpStore(directory, path);
      const { left = '-1', right = '-1' } = await textsIn(path);
      expect(left).toBe(right);
      expect(Number(left)).toBeGreaterThanOrEqual(least);
    }
    over.abort();
    await writing;
    await store.close();
    expect(acknowledged).toBeGreaterThan(40);
    expect(existsSync(join(directory, 'snapshot'))).toBe(true);
  });

  it('holds together where a snapshot is written between the looks at the two files', async () => {
    const store = await createLowdbStore(directory, { compactionBytes: 300 });
    await store.commit(twins(store, 0));
    const files: Files = {
      ...diskFiles,
      openToRead: async (path, bytesMax) => {
        if (path.endsWith('snapshot')) for (let round = 1; round < 20; round++) await store.commit(twins(store, round));
        return await diskFiles.openToRead(path, bytesMax);
      },
    };
    await backUpStore(directory, target, files);
    await store.close();
    const { left, right } = await textsIn(target);
    expect(left).toBe(right);
    // The journal that was looked at ends with round 0; the snapshot was written since.
    expect(Number(left)).toBeGreaterThan(0);
  });

  it('is tried again where the journal was seen in the middle of a mended write', async () => {
    await commitText('a');
    let looks = 0;
    const files: Files = {
      ...diskFiles,
      openToRead: async (path, bytesMax) => {
        const file = await diskFiles.openToRead(path, bytesMax);
        if (!path.endsWith('journal') || file === undefined || looks++ > 0) return file;
        const bytes = Buffer.alloc(file.size);
        await file.read(bytes, 0);
        await file.close();
        return readFileOf(Buffer.concat([Buffer.from('half of one'), bytes]));
      },
    };
    await backUpStore(directory, target, files);
    expect(looks).toBe(2);
    expect(await textsIn(target)).toEqual({ a: 'a' });
  });
});

describe('no backup is left', () => {
  it('of a directory without a store', async () => {
    expect(await refusal()).toContain(`There is no store in ${directory}`);
    directory = join(directory, 'missing');
    expect(await refusal()).toContain(`There is no store in ${directory}`);
  });

  it('of a damaged store', async () => {
    await commitText('a');
    writeFileSync(join(directory, 'journal'), 'damaged');
    expect(await refusal()).toContain('journal is damaged at byte 0');
  });

  it('of one whose files cannot be read', async () => {
    const files: Files = { ...diskFiles, openToRead: () => Promise.reject(new Error('EACCES: permission denied')) };
    expect(await refusal(files)).toContain(`The store in ${directory} cannot be read: EACCES: permission denied`);
  });

  it('where there is no room for it', async () => {
    await commitText('a');
    const files: Files = {
      ...diskFiles,
      create: async (path) => ({
        ...(await diskFiles.create(path)),
        append: () => Promise.reject(new Error('ENOSPC: no space left on device, write')),
      }),
    };
    expect(await refusal(files)).toContain(`could not be written to ${target}: ENOSPC: no space left on device`);
  });

  it('where its folder is missing', async () => {
    await commitText('a');
    const missing = join(target, 'missing', 'backup');
    await expect(backUpStore(directory, missing)).rejects.toThrow(
      `could not be written to ${missing}: its folder is not there: make it first`,
    );
  });
});

describe('readBackup', () => {
  it('refuses every damage, and says which file', async () => {
    await commitText('a');
    await backUpStore(directory, target);
    const whole = readFileSync(target);
    for (let at = 0; at < whole.length; at++) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      writeFileSync(target, damaged);
      await expect(readBackup(target)).rejects.toThrow(`or is no backup: ${target}`);
      writeFileSync(target, whole.subarray(0, at));
      await expect(readBackup(target)).rejects.toThrow(`or is no backup: ${target}`);
    }
  });

  it('says what else is wrong with a file', async () => {
    await expect(readBackup(target)).rejects.toThrow(`There is no backup ${target}`);
    await expect(readBackup(directory)).rejects.toThrow(`The backup ${directory} cannot be read: it is a folder`);
    await commitText('a');
    rmSync(target, { force: true });
    await expect(readBackup(join(directory, 'journal'))).rejects.toThrow('or is no backup');
  });
});

async function commitText(text: string): Promise<void> {
  const store = await createLowdbStore(directory);
  await store.commit([writeText(text, text)]);
  await store.close();
}

/** Two rows that always say the same, and one that makes the journal longer. */
function twins(store: Store, round: number) {
  const filler = writeText('filler', 'x'.repeat(100), store.read('node', 'filler'));
  const names = ['left', 'right'].map((name) => writeText(name, String(round), store.read('node', name)));
  return [...names, filler];
}

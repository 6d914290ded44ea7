// Backups of a store that stands still, of one that is being written, and of one that cannot be read.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import type { Store } from '../../src/store/store.ts';
import { emptyStoreDocument } from '../../src/store/store-document.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { backUpStore, readBackup, storePath } from '../../src/store/store-file.ts';
import { countRuns } from '../support/count-runs.ts';
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

async function refusal(): Promise<string> {
  const error: unknown = await backUpStore(directory, target).then(
    () => 'it was backed up',
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  expect(readdirSync(join(target, '..'))).toEqual([]);
  return String(error);
}

describe('a backup', () => {
  it('contains every row of every kind, in a file for its owner only', async () => {
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

  it('is complete if several are written to one target at the same time', async () => {
    await commitText('a');
    await Promise.all(Array.from({ length: 4 }, () => backUpStore(directory, target)));
    expect(await textsIn(target)).toEqual({ a: 'a' });
    expect(readdirSync(join(target, '..'))).toEqual(['backup']);
  });

  it('does not change the files of a killed store', async () => {
    await commitText('a');
    const left = await killedStore();
    const before = ['store.sqlite', 'store.sqlite-wal'].map((name) => readFileSync(join(left, name)));
    await backUpStore(left, target);
    expect(await textsIn(target)).toEqual({ a: 'a', b: 'b', c: 'c' });
    expect(['store.sqlite', 'store.sqlite-wal'].map((name) => readFileSync(join(left, name)))).toEqual(before);
  });

  it('of an empty store is possible', async () => {
    await (await createLowdbStore(directory)).close();
    await backUpStore(directory, target);
    expect(await textsIn(target)).toEqual({});
  });
});

describe('a backup of an open store', () => {
  it('contains whole commits, and all that were acknowledged before', async () => {
    const store = await createLowdbStore(directory);
    const over = new AbortController();
    let acknowledged = -1;
    const writing = (async () => {
      for (let round = 0; !over.signal.aborted; round++) {
        await store.commit(twins(store, round));
        acknowledged = round;
      }
    })();
    const backups = countRuns(12);
    for (let count = 0; count < backups; count++) {
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
    expect(acknowledged).toBeGreaterThan(backups);
  });
});

describe('no backup is written', () => {
  it('of a directory without a store', async () => {
    expect(await refusal()).toContain(`There is no store in ${directory}`);
    directory = join(directory, 'missing');
    expect(await refusal()).toContain(`There is no store in ${directory}`);
  });

  it('of a damaged store', async () => {
    await commitText('a');
    writeFileSync(storePath(directory), 'damaged');
    expect(await refusal()).toContain(`The store ${storePath(directory)} is damaged`);
  });

  it('of a store whose file cannot be read', async () => {
    mkdirSync(storePath(directory));
    expect(await refusal()).toContain(`The store ${storePath(directory)} cannot be used: disk I/O error`);
  });

  it('if its folder is missing', async () => {
    await commitText('a');
    const missing = join(target, 'missing', 'backup');
    await expect(backUpStore(directory, missing)).rejects.toThrow(
      `could not be written to ${missing}: its folder does not exist: create it first`,
    );
  });
});

describe('readBackup', () => {
  it('refuses a truncated file, and names it', async () => {
    await commitText('a');
    await backUpStore(directory, target);
    const whole = readFileSync(target);
    for (const length of [0, 10, 100, 4096, whole.length - 4096]) {
      writeFileSync(target, whole.subarray(0, length));
      await expect(readBackup(target)).rejects.toThrow(`The backup ${target} is damaged, or is not a backup`);
    }
  });

  it('names every other fault of a file', async () => {
    await expect(readBackup(target)).rejects.toThrow(`There is no backup ${target}`);
    await expect(readBackup(directory)).rejects.toThrow(`The backup ${directory} cannot be read: it is a folder`);
    writeFileSync(target, 'something else\n'.repeat(1000));
    await expect(readBackup(target)).rejects.toThrow('or is not a backup: file is not a database');
  });
});

/** Returns a directory as a controller leaves it that is killed after it has committed two texts. */
async function killedStore(): Promise<string> {
  const store = await createLowdbStore(directory);
  for (const text of ['b', 'c']) await store.commit([writeText(text, text)]);
  const left = temporaryDirectory();
  for (const name of ['store.sqlite', 'store.sqlite-wal']) copyFileSync(join(directory, name), join(left, name));
  await store.close();
  return left;
}

async function commitText(text: string): Promise<void> {
  const store = await createLowdbStore(directory);
  await store.commit([writeText(text, text)]);
  await store.close();
}

/** Two rows that always say the same, and one that makes the commit longer. */
function twins(store: Store, round: number) {
  const filler = writeText('filler', 'x'.repeat(100), store.read('node', 'filler'));
  const names = ['left', 'right'].map((name) => writeText(name, String(round), store.read('node', name)));
  return [...names, filler];
}

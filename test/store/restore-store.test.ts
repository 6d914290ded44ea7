// Backups put back: over nothing, over something, beside a controller, and while the power goes.

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Change } from '../../src/model/rows.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import {
  backUpStore,
  type Restored,
  type RestoreOptions,
  restoreStore,
  storePath,
} from '../../src/store/store-file.ts';
import { itInFull } from '../support/count-runs.ts';
import { writeText } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const NOW = Date.parse('2026-11-20T10:13:56.789Z');
const RESTORE_STEP_BY_STEP = join(import.meta.dirname, '..', 'support', 'restore-step-by-step.ts');

let directory: string;
let backup: string;

beforeEach(() => {
  directory = temporaryDirectory();
  backup = join(temporaryDirectory(), 'backup');
});

async function commitEach(commits: readonly (readonly Change[])[], at = directory): Promise<void> {
  const store = await createLowdbStore(at);
  for (const changes of commits) await store.commit(changes);
  await store.close();
}

async function textsOf(at = directory): Promise<string[]> {
  const store = await createLowdbStore(at);
  const names = [...store.list('node').keys()].sort();
  await store.close();
  return names;
}

/** A backup of a store whose texts are these, one commit each. */
async function makeBackup(texts: readonly string[]): Promise<void> {
  const at = temporaryDirectory();
  await commitEach(
    texts.map((text) => [writeText(text, text)]),
    at,
  );
  await backUpStore(at, backup);
}

function restore(options: Partial<RestoreOptions> = {}): Promise<Restored> {
  return restoreStore(directory, backup, { force: false, now: NOW, renew: () => [], ...options });
}

/** A directory as a kill leaves it: the last commits are in the log beside the file. */
async function storeOfKilled(texts: readonly string[]): Promise<string> {
  const [running, killed] = [temporaryDirectory(), temporaryDirectory()];
  const store = await createLowdbStore(running);
  for (const text of texts) await store.commit([writeText(text, text)]);
  for (const end of ['', '-wal']) copyFileSync(storePath(running) + end, storePath(killed) + end);
  await store.close();
  return killed;
}

async function refusal(): Promise<string> {
  const before = existsSync(directory) ? textsIn(directory) : {};
  const error: unknown = await restore().then(
    () => 'it was restored',
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  expect(textsIn(directory)).toEqual(before);
  return String(error);
}

/** The files of a folder, but for those that a reader of the store leaves. */
function textsIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && !/^lock|-(?:wal|shm)$/.test(entry.name),
  );
  return Object.fromEntries(names.map(({ name }) => [name, readFileSync(join(folder, name), 'utf8')]));
}

describe('a restored store', () => {
  it('has the rows of the backup, and accepts commits', async () => {
    await makeBackup(['a', 'b']);
    directory = join(directory, 'new', 'state');
    const { document, former } = await restore();
    expect(former).toBeNull();
    expect([...document.tables.node.keys()]).toEqual(['a', 'b']);
    expect(await textsOf()).toEqual(['a', 'b']);
    await commitEach([[writeText('c', 'c')]]);
    expect(await textsOf()).toEqual(['a', 'b', 'c']);
    expect(Object.keys(textsIn(directory)).sort()).toEqual(['store.sqlite']);
  });

  it('has the rows of the log of a killed store', async () => {
    backup = storePath(await storeOfKilled(['a', 'b']));
    await restore();
    expect(await textsOf()).toEqual(['a', 'b']);
  });

  it('has the requested changes', async () => {
    await makeBackup(['a', 'b']);
    const { document } = await restore({
      renew: ({ tables: { node } }) => [
        writeText('a', null, node.get('a')),
        writeText('c', `after ${node.get('b')?.oid}`),
      ],
    });
    expect([...document.tables.node.keys()]).toEqual(['b', 'c']);
    expect(document.tables.node.get('c')?.oid).toBe('after b');
    expect(await textsOf()).toEqual(['b', 'c']);
  });

  it('is complete in its main file', async () => {
    await makeBackup(['a']);
    await restore();
    // How SQLite writes the file: 1 in place, 2 by way of a log.
    expect(readFileSync(storePath(directory))[18]).toBe(1);
    expect(await textsOf()).toEqual(['a']);
  });

  it('replaces an empty store', async () => {
    await makeBackup(['a']);
    await (await createLowdbStore(directory)).close();
    expect((await restore()).former).toBeNull();
    expect(await textsOf()).toEqual(['a']);
  });
});

describe('a restore over a store with rows', () => {
  it('is refused without force', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]]);
    expect(await refusal()).toContain(
      `The store in ${directory} has 1 commits already. To replace it with the backup, say --force`,
    );
  });

  it('keeps the former files in a dated folder', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')], [writeText('y', 'y')]]);
    const before = textsIn(directory);
    const { former } = await restore({ force: true });
    expect(former).toBe(join(directory, 'replaced-2026-11-20T10-13-56-789Z'));
    expect(textsIn(former ?? '')).toEqual(before);
    expect(await textsOf()).toEqual(['a']);
    expect(await textsOf(former ?? '')).toEqual(['x', 'y']);
  });

  it('keeps all other files of the directory', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]]);
    writeFileSync(join(directory, 'simulated-lab.sqlite'), 'servers');
    mkdirSync(join(directory, 'repository'));
    await restore({ force: true });
    expect(readFileSync(join(directory, 'simulated-lab.sqlite'), 'utf8')).toBe('servers');
    expect(existsSync(join(directory, 'repository'))).toBe(true);
  });

  it('replaces a damaged store with force only', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]]);
    writeFileSync(storePath(directory), 'damaged');
    expect(await refusal()).toContain('cannot be read');
    const { former } = await restore({ force: true });
    expect(readFileSync(join(former ?? '', 'store.sqlite'), 'utf8')).toBe('damaged');
    expect(await textsOf()).toEqual(['a']);
  });
});

describe('nothing is restored', () => {
  it('from a damaged backup', async () => {
    await makeBackup(['a', 'b']);
    writeFileSync(backup, readFileSync(backup).subarray(0, -4096));
    expect(await refusal()).toContain(`The backup ${backup} is damaged, or is not a backup`);
  });

  it('if the directory cannot be created', async () => {
    await makeBackup(['a']);
    directory = join(directory, 'file');
    writeFileSync(directory, '');
    await expect(restore()).rejects.toThrow(`The store in ${directory} could not be restored: EEXIST`);
  });

  it('if the new file cannot be written, also without copies of the present files', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]]);
    mkdirSync(`${storePath(directory)}.new`);
    await expect(restore({ force: true })).rejects.toThrow('could not be restored');
    expect(readdirSync(directory).sort()).toEqual(['lock', 'store.sqlite', 'store.sqlite.new']);
    expect(await textsOf()).toEqual(['x']);
  });

  it('while a controller uses the store', async () => {
    await makeBackup(['a']);
    const store = await createLowdbStore(directory);
    expect(await refusal()).toContain(
      `The store in ${directory} is in use by another process. Stop that controller first. Nothing was restored.`,
    );
    await store.close();
  });
});

itInFull(
  'a restore that is killed at any step leaves the old or the restored store, and can be repeated',
  async () => {
    await makeBackup(['a', 'b']);
    const killed = await storeOfKilled(['x', 'y']);
    const steps = temporaryDirectory();
    const { status, stderr } = spawnSync(process.execPath, [RESTORE_STEP_BY_STEP, killed, backup, steps]);
    expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' });
    const found = new Set<string>();
    const seen = new Set<string>();
    for (const step of readdirSync(steps)) {
      directory = join(steps, step);
      const state = `${readdirSync(directory, { recursive: true })} ${crc32(readFileSync(storePath(directory)))}`;
      if (seen.has(state)) continue;
      seen.add(state);
      found.add((await textsOf()).join());
      await restore({ force: true, now: NOW + 1 });
      expect(await textsOf()).toEqual(['a', 'b']);
    }
    expect([...found].sort()).toEqual(['a,b', 'x,y']);
    expect(seen.size).toBeGreaterThan(5);
    expect(await textsOf(killed)).toEqual(['a', 'b']);
  },
  120_000,
);

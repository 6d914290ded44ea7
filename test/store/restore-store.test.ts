// Backups put back: over nothing, over something, beside a controller, and while the power goes.

import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Change } from '../../src/model/rows.ts';
import { backUpStore } from '../../src/store/back-up-store.ts';
import { diskFiles, type Files } from '../../src/store/files.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { type Restored, type RestoreOptions, restoreStore } from '../../src/store/restore-store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { MemoryFiles } from '../support/memory-files.ts';
import { writeText } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const NOW = Date.parse('2026-11-20T10:13:56.789Z');
/** After every commit. */
const COMPACTING = 10;

let directory: string;
let backup: string;

beforeEach(() => {
  directory = temporaryDirectory();
  backup = join(temporaryDirectory(), 'backup');
});

interface Place {
  readonly at?: string;
  readonly files?: Files;
  readonly compactionBytes?: number;
}

async function commitEach(
  commits: readonly (readonly Change[])[],
  { at = directory, ...options }: Place = {},
): Promise<void> {
  const store = await createLowdbStore(at, options);
  for (const changes of commits) await store.commit(changes);
  await store.close();
}

async function textsOf({ at = directory, ...options }: Place = {}): Promise<string[]> {
  const store = await createLowdbStore(at, options);
  const names = [...store.list('node').keys()].sort();
  await store.close();
  return names;
}

/** A backup of a store whose texts are these, one commit each. */
async function makeBackup(texts: readonly string[], files: Files = diskFiles): Promise<void> {
  const at = temporaryDirectory();
  await commitEach(
    texts.map((text) => [writeText(text, text)]),
    { at, files },
  );
  await backUpStore(at, backup, files);
}

function restore(options: Partial<RestoreOptions> = {}): Promise<Restored> {
  return restoreStore(directory, backup, { force: false, now: NOW, renew: () => [], ...options });
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

/** The files of a folder; sockets are left out. */
function textsIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile() && entry.name !== 'lock');
  return Object.fromEntries(names.map(({ name }) => [name, readFileSync(join(folder, name), 'utf8')]));
}

describe('a restored store', () => {
  it('holds what was backed up, and goes on from there', async () => {
    await makeBackup(['a', 'b']);
    directory = join(directory, 'new', 'state');
    const { document, former } = await restore();
    expect(former).toBeNull();
    expect([...document.tables.node.keys()]).toEqual(['a', 'b']);
    expect(await textsOf()).toEqual(['a', 'b']);
    await commitEach([[writeText('c', 'c')]]);
    expect(await textsOf()).toEqual(['a', 'b', 'c']);
    expect(Object.keys(textsIn(directory)).sort()).toEqual(['journal', 'snapshot']);
  });

  it('has the changes that were asked for', async () => {
    await makeBackup(['a', 'b']);
    const { document } = await restore({
      renew: ({ list }) => [
        writeText('a', null, list('node').get('a')),
        writeText('c', `after ${list('node').get('b')?.oid}`),
      ],
    });
    expect([...document.tables.node.keys()]).toEqual(['b', 'c']);
    expect(document.tables.node.get('c')?.oid).toBe('after b');
    expect(await textsOf()).toEqual(['b', 'c']);
  });

  it('takes the place of one without rows, and keeps nothing of it', async () => {
    await makeBackup(['a']);
    await (await createLowdbStore(directory)).close();
    expect((await restore()).former).toBeNull();
    expect(await textsOf()).toEqual(['a']);
  });
});

describe('over a store that holds rows', () => {
  it('is refused without force', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]]);
    expect(await refusal()).toContain(
      `The store in ${directory} holds rows already (1). To replace it with the backup, say --force`,
    );
  });

  it.each([
    ['journal', {}],
    ['snapshot and journal', { compactionBytes: COMPACTING }],
  ])('keeps the former %s aside under a dated name', async (_files, options) => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')], [writeText('y', 'y')]], options);
    const before = textsIn(directory);
    const { former } = await restore({ force: true });
    expect(former).toBe(join(directory, 'replaced-2026-11-20T10-13-56-789Z'));
    expect(textsIn(former ?? '')).toEqual(before);
    expect(await textsOf()).toEqual(['a']);
    expect(await textsOf({ at: former ?? '' })).toEqual(['x', 'y']);
  });

  it('leaves everything else in the directory alone', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]]);
    writeFileSync(join(directory, 'simulated-lab.json'), 'servers');
    mkdirSync(join(directory, 'repository'));
    await restore({ force: true });
    expect(readFileSync(join(directory, 'simulated-lab.json'), 'utf8')).toBe('servers');
    expect(existsSync(join(directory, 'repository'))).toBe(true);
  });

  it('mends one that is damaged, with force only', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]], { compactionBytes: COMPACTING });
    for (const name of ['journal', 'snapshot']) {
      writeFileSync(join(directory, name), 'damaged');
      expect(await refusal()).toContain('cannot be read');
      const { former } = await restore({ force: true, now: NOW + name.length });
      expect(readFileSync(join(former ?? '', name), 'utf8')).toBe('damaged');
      expect(await textsOf()).toEqual(['a']);
    }
  });
});

describe('nothing is restored', () => {
  it('from a damaged backup', async () => {
    await makeBackup(['a', 'b']);
    writeFileSync(backup, readFileSync(backup).subarray(0, -1));
    expect(await refusal()).toContain(`The backup is damaged at byte`);
  });

  it('where no directory can be made', async () => {
    await makeBackup(['a']);
    directory = join(directory, 'file');
    writeFileSync(directory, '');
    await expect(restore()).rejects.toThrow(`The store in ${directory} could not be restored: EEXIST`);
  });

  it('while a controller has the store', async () => {
    await makeBackup(['a']);
    const store = await createLowdbStore(directory);
    expect(await refusal()).toContain(
      `The store in ${directory} is in use by process ${process.pid}. Stop that controller first. Nothing was restored.`,
    );
    await store.close();
  });

  it.skipIf(process.getuid?.() !== 0)("over another user's files (needs root to try)", async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]]);
    chownSync(join(directory, 'journal'), 12345, 12345);
    expect(await refusal()).toContain('belongs to the user with the id 12345, and you are 0');
  });

  it('where the former files cannot be kept, and no half of them is left', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]]);
    const files: Files = { ...diskFiles, create: failingBelow('replaced-') };
    await expect(restore({ force: true, files })).rejects.toThrow('could not be restored: ENOSPC');
    expect(readdirSync(directory)).toEqual(['journal', 'lock']);
    expect(await textsOf()).toEqual(['x']);
  });

  it('where there is no room for the restored rows', async () => {
    await makeBackup(['a']);
    await commitEach([[writeText('x', 'x')]]);
    const files: Files = { ...diskFiles, create: failingBelow('snapshot.new') };
    await expect(restore({ force: true, files })).rejects.toThrow('could not be restored: ENOSPC');
    expect(await textsOf()).toEqual(['x']);
  });
});

function failingBelow(part: string): Files['create'] {
  return async (path) => {
    const file = await diskFiles.create(path);
    if (!path.includes(part)) return file;
    return { ...file, append: () => Promise.reject(new Error('ENOSPC: no space left on device, write')) };
  };
}

/** Which of the names that were not synced a power cut leaves. */
const NAMES: readonly [string, (path: string) => boolean][] = [
  ['no', () => false],
  ['all', () => true],
  ["the journal's", (path) => basename(path) === 'journal'],
  ["the snapshot's", (path) => basename(path) === 'snapshot'],
];

describe.each([
  ['a journal alone', undefined],
  ['a snapshot and a journal', COMPACTING],
])('a power cut over %s', (_store, compactionBytes) => {
  it.each(NAMES)('that leaves %s unsynced names leaves the old store, the restored one or none', async (_n, keeps) => {
    const found = new Set<string>();
    for (let end = 0; end === 0 || !found.has('restored in full'); end++) {
      const files = new MemoryFiles();
      directory = temporaryDirectory();
      // More commits than the backup holds: its own numbers would not tell it apart.
      const commits = ['v', 'w', 'x', 'y'].map((text) => [writeText(text, text)]);
      await commitEach(commits, { files, ...(compactionBytes === undefined ? {} : { compactionBytes }) });
      await makeBackup(['a', 'b'], files);
      const from = files.writes;
      files.beforeWrite = (number) => {
        if (number >= from + end) throw new Error('no power');
      };
      const isWhole = await restore({ force: true, files }).then(
        () => true,
        () => false,
      );
      files.cutPower(0, keeps);
      const texts = await textsOf({ files }).catch((error: unknown) => [String(error)]);
      found.add(isWhole ? 'restored in full' : texts.join());
      if (isWhole) expect(texts).toEqual(['a', 'b']);
      // Whatever was found, the same command leads to the end.
      files.beforeWrite = () => undefined;
      await restore({ force: true, files, now: NOW + 1 });
      expect(await textsOf({ files })).toEqual(['a', 'b']);
    }
    const kinds = [...found].map((texts) =>
      texts.replace(/^StoreError: .*one of the two is from another time.*$/, 'none'),
    );
    expect(kinds.filter((kind) => !['v,w,x,y', 'a,b', 'none', 'restored in full'].includes(kind))).toEqual([]);
    expect(kinds).toContain('v,w,x,y');
  });
});

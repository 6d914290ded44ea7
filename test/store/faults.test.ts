// The embedded store when the disk is full or the power goes, at every single write that it makes.
import { describe, expect, it } from 'vitest';
import { finish } from '../../src/model/steps.ts';
import type { RunInSlices } from '../../src/slices.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { MemoryFiles } from '../support/memory-files.ts';
import { writeText } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROUNDS = 12;
/** Create, write, sync, rename. */
const WRITES_OF_OPENING = 4;
/** Small enough for a snapshot every few rounds. */
const COMPACTION_BYTES = 500;

/** After round n, `last` is n and so is each of the rows 0 to n. */
function changesOf(round: number, store: Store) {
  return [
    writeText('last', String(round), store.read('node', 'last')),
    writeText(`row-${round % 3}`, String(round), store.read('node', `row-${round % 3}`)),
  ];
}

function lastOf(store: Store): number {
  return Number(store.read('node', 'last')?.oid ?? -1);
}

/** All rows are as they were after one and the same round. */
function expectWhole(store: Store): void {
  const last = lastOf(store);
  for (let round = Math.max(0, last - 2); round <= last; round++) {
    expect(store.read('node', `row-${round % 3}`)?.oid).toBe(String(round));
  }
}

/** Commits round after round until the first failure, and returns the last round that was acknowledged, or -1. */
async function commitRounds(store: Store): Promise<number> {
  for (let round = lastOf(store) + 1; round < ROUNDS; round++) {
    try {
      await store.commit(changesOf(round, store));
    } catch (error) {
      expect(error).toBeInstanceOf(StoreError);
      expect(lastOf(store)).toBe(round - 1);
      return round - 1;
    }
  }
  return ROUNDS - 1;
}

async function countWrites(directory: string): Promise<number> {
  const files = new MemoryFiles();
  const store = await createLowdbStore(directory, { files, compactionBytes: COMPACTION_BYTES });
  await commitRounds(store);
  await store.close();
  return files.writes;
}

/** Opens and commits until the power goes before a write, and returns the last round that was acknowledged, or -1. */
async function runUntil(end: number, { directory, files }: { directory: string; files: MemoryFiles }): Promise<number> {
  files.beforeWrite = (number) => {
    if (number >= end) throw new Error('no power');
  };
  let store: Store;
  try {
    store = await createLowdbStore(directory, { files, compactionBytes: COMPACTION_BYTES });
  } catch {
    return -1;
  }
  const acknowledged = await commitRounds(store);
  await store.close();
  return acknowledged;
}

/** Which of the names that were not synced a power cut leaves. */
const NAMES: readonly [string, (path: string) => boolean][] = [
  ['no', () => false],
  ['all', () => true],
  ["the journal's", (path) => path.endsWith('journal')],
  ["the snapshot's", (path) => path.endsWith('snapshot')],
];

describe.each(NAMES)('a power cut that leaves %s unsynced names', (_names, keeps) => {
  it.each([0, 0.3, 0.8, 1])('and %d of unsynced bytes loses nothing acknowledged, before any write', async (bytes) => {
    const directory = temporaryDirectory();
    const writes = await countWrites(directory);
    expect(writes).toBeGreaterThan(3 * ROUNDS);
    for (let end = 0; end < writes; end++) {
      const files = new MemoryFiles();
      const acknowledged = await runUntil(end, { directory, files });
      files.cutPower(bytes, keeps);
      const store = await createLowdbStore(directory, { files, compactionBytes: COMPACTION_BYTES });
      expect(lastOf(store)).toBeGreaterThanOrEqual(acknowledged);
      expect(lastOf(store)).toBeLessThanOrEqual(acknowledged + 1);
      expectWhole(store);
      expect(await commitRounds(store)).toBe(ROUNDS - 1);
      expectWhole(store);
      await store.close();
    }
  });

  it('loses nothing acknowledged after a restart, before any write of which the process was killed', async () => {
    const directory = temporaryDirectory();
    const writes = await countWrites(directory);
    for (let end = 0; end < writes; end++) {
      const files = new MemoryFiles();
      await runUntil(end, { directory, files });
      files.beforeWrite = () => undefined;
      const store = await createLowdbStore(directory, { files });
      const seen = lastOf(store);
      await store.commit(changesOf(seen + 1, store));
      await store.close();
      files.cutPower(0, keeps);
      const reopened = await createLowdbStore(directory, { files });
      expect(lastOf(reopened)).toBe(seen + 1);
      expectWhole(reopened);
      await reopened.close();
    }
  });
});

describe.each(NAMES)('a write that fails once, and then a power cut that leaves %s unsynced names', (_names, keeps) => {
  it.each([
    [0, 'stops'],
    [0, 'goes on'],
    [1, 'stops'],
    [1, 'goes on'],
  ])('and %d of unsynced bytes: the write leaves no trace where the process %s', async (bytes, after) => {
    const directory = temporaryDirectory();
    const writes = await countWrites(directory);
    for (let failing = WRITES_OF_OPENING; failing < writes; failing++) {
      const files = new MemoryFiles();
      files.beforeWrite = (number) => {
        if (number === failing) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
      };
      const store = await createLowdbStore(directory, { files, compactionBytes: COMPACTION_BYTES });
      let last = await commitRounds(store);
      if (after === 'goes on') {
        last = await commitRounds(store);
        expect(last).toBe(ROUNDS - 1);
      }
      await store.close();
      files.cutPower(bytes, keeps);
      const reopened = await createLowdbStore(directory, { files });
      expect(lastOf(reopened)).toBe(last);
      expectWhole(reopened);
      await reopened.close();
    }
  });
});

describe('a full disk', () => {
  it('fails commits with advice until there is room, and keeps what was read before', async () => {
    const files = new MemoryFiles();
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory, { files });
    await store.commit([writeText('a', 'one')]);
    const before = store.read('node', 'a');
    files.beforeWrite = () => {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    };
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(store.commit([writeText('a', 'two', before)])).rejects.toThrow(
        `The store in ${directory} could not be written: ENOSPC: no space left on device, write. Nothing was saved. ` +
          'Free space',
      );
      expect(store.read('node', 'a')).toBe(before);
    }
    files.beforeWrite = () => undefined;
    await store.commit([writeText('a', 'two', before)]);
    await store.close();
    files.cutPower(0, () => false);
    const reopened = await createLowdbStore(directory, { files });
    expect(reopened.read('node', 'a')?.oid).toBe('two');
    await reopened.close();
  });

  it('fails every commit that waited for the same write, conflicts too', async () => {
    const files = new MemoryFiles();
    const store = await createLowdbStore(temporaryDirectory(), { files });
    files.beforeWrite = () => {
      throw new Error('EIO');
    };
    const commits = ['one', 'two'].map((text) => store.commit([writeText('a', text)]));
    const results = await Promise.allSettled(commits);
    expect(results.map((result) => result.status === 'rejected' && result.reason)).toEqual([
      expect.any(StoreError),
      expect.any(StoreError),
    ]);
    await store.close();
  });
});

it('saves nothing more once a saved commit could not be shown, and has it after another start', async () => {
  const directory = temporaryDirectory();
  const isBroken = { value: false };
  const inSlices: RunInSlices = async (steps) => {
    const result = finish(steps);
    // Nothing else that runs in slices has no result: events are being added.
    if (isBroken.value && result === undefined) throw new Error('a defect');
    return result;
  };
  const store = await createLowdbStore(directory, { inSlices, compactionBytes: 1 });
  isBroken.value = true;
  await expect(store.commit([writeText('a', 'one')])).rejects.toThrow(
    `The store in ${directory} has saved a commit and failed then: a defect. It saves nothing more. Restart Treeline`,
  );
  isBroken.value = false;
  await expect(store.commit([writeText('b', 'two')])).rejects.toThrow('It saves nothing more');
  expect(store.list('node').size).toBe(0);
  await store.close();
  const reopened = await createLowdbStore(directory);
  expect([...reopened.list('node').keys()]).toEqual(['a']);
  await reopened.close();
});

describe('opening', () => {
  it('fails while the disk refuses to be written, and lets go of the directory', async () => {
    const files = new MemoryFiles();
    const directory = temporaryDirectory();
    await (await createLowdbStore(directory, { files })).close();
    files.beforeWrite = () => {
      throw new Error('EROFS: read-only file system');
    };
    await expect(createLowdbStore(directory, { files })).rejects.toThrow('EROFS');
    files.beforeWrite = () => undefined;
    await (await createLowdbStore(directory, { files })).close();
  });
});

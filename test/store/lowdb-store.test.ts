// The embedded store: the contract, and what is its own.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { NewEvent } from '../../src/model/instance-event.ts';
import { refuseNetwork } from '../../src/store/database.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { SqliteAdapter } from '../../src/store/sqlite-adapter.ts';
import { NotLeading, StoreError } from '../../src/store/store-error.ts';
import { backUpStore, restoreStore, storePath } from '../../src/store/store-file.ts';
import { describeStore, type StorePlace } from '../contract/store.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { pausing } from '../support/pausing.ts';
import { writeText } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function storePlace(): StorePlace {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  return {
    open: () => createLowdbStore(join(directory, 'state')),
    remove: () => rm(directory, { recursive: true }),
  };
}

describeStore('lowdb', async () => storePlace());

it('a commit of many rows pauses, and becomes visible as a whole', async () => {
  const seen: number[] = [];
  let look = (): void => undefined;
  const breathe = pausing(() => look());
  const store = await createLowdbStore(join(temporaryDirectory(), 'state'), { breathe });
  look = () => void seen.push(store.list('node').size);
  const rows = Array.from({ length: 350 }, (_, index) => writeText(`row-${index}`, 'x'.repeat(20_000)));
  const written = store.commit(rows);
  const later = store.commit([writeText('later', 'y')]);
  await Promise.all([written, later]);
  expect(seen.length).toBeGreaterThan(3);
  expect(new Set(seen)).toEqual(new Set([0]));
  expect(store.list('node').size).toBe(351);
  await store.close();
});

it('a commit of many rows that fails halfway saves nothing', async () => {
  const directory = join(temporaryDirectory(), 'state');
  const store = await createLowdbStore(directory);
  const rows = Array.from({ length: 2_500 }, (_, index) => writeText(`row-${index}`, 'x'));
  const broken = { toJSON: () => JSON.parse('{') };
  await expect(store.commit([...rows, writeText('last', broken as unknown as string)])).rejects.toThrow(StoreError);
  await store.commit([writeText('next', 'y')]);
  await store.close();
  const again = await createLowdbStore(directory);
  expect([...again.list('node').keys()]).toEqual(['next']);
  await again.close();
});

it('a commit of many rows that conflicts is refused as a whole', async () => {
  const store = await createLowdbStore(join(temporaryDirectory(), 'state'), { breathe: pausing() });
  const rows = Array.from({ length: 350 }, (_, index) => writeText(`row-${index}`, 'x'));
  const first = store.commit([writeText('row-349', 'first')]);
  await expect(store.commit(rows)).rejects.toThrow('was changed meanwhile');
  await first;
  expect(store.list('node').size).toBe(1);
  await store.close();
});

describe('files', () => {
  const FILES = ['store.sqlite', 'store.sqlite-shm', 'store.sqlite-wal'];

  it('are for their owner only, like the directory and the lock, with any umask', async () => {
    const directory = join(temporaryDirectory(), 'deep', 'state');
    const before = process.umask(0);
    try {
      const store = await createLowdbStore(directory);
      await store.commit([writeText('a', 'x'.repeat(200))]);
      expect(modeOf(directory)).toBe(0o700);
      const held = readdirSync(directory).sort();
      expect(held).toEqual(['lock', ...FILES]);
      expect(held.map((name) => modeOf(join(directory, name)))).toEqual(held.map(() => 0o600));
      await store.close();
      expect(readdirSync(directory).sort()).toEqual(['lock', 'store.sqlite']);
    } finally {
      process.umask(before);
    }
  });

  it.each(['0750', '0701', '0770', '0755', '0777'])('are not created in a directory with mode %s', async (mode) => {
    const directory = join(temporaryDirectory(), 'state');
    mkdirSync(directory);
    chmodSync(directory, Number.parseInt(mode, 8));
    const refused = createLowdbStore(directory);
    await expect(refused).rejects.toThrow(StoreError);
    await expect(refused).rejects.toThrow(
      `The directory ${directory} has the mode ${mode}: others may read what Treeline keeps in it, or change it`,
    );
    await expect(refused).rejects.toThrow(`chmod 0700 ${directory}`);
    expect(readdirSync(directory)).toEqual([]);
    chmodSync(directory, 0o700);
    await (await createLowdbStore(directory)).close();
  });

  it('are written once for all waiting commits', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    await Promise.all(['a', 'b', 'c'].map((name) => store.commit([writeText(name, name)])));
    await store.close();
    const database = new DatabaseSync(storePath(directory), { readOnly: true });
    expect(database.prepare('SELECT revision FROM state').get()).toEqual({ revision: 1 });
    database.close();
  });

  it('do not grow with the number of commits', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    for (let round = 0; round < 300; round++) {
      await store.commit([writeText('a', String(round).padStart(20_000, '0'), store.read('node', 'a'))]);
    }
    const sizes = readdirSync(directory).map((name) => statSync(join(directory, name)).size);
    await store.close();
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(5_000_000);
  });
});

describe('limits', () => {
  it('refuse one commit more than may wait, and save the others', async () => {
    const store = await createLowdbStore(temporaryDirectory());
    const commits = Array.from({ length: 10_001 }, (_, index) => store.commit([writeText(`row-${index}`, 'x')]));
    const results = await Promise.allSettled(commits);
    expect(results.findIndex((result) => result.status === 'rejected')).toBe(10_000);
    await expect(commits[10_000]).rejects.toThrow('10000 commits wait for the disk already. Nothing was saved');
    expect(store.list('node').size).toBe(10_000);
    await store.close();
  });
});

describe('a failed commit', () => {
  it('is reported with the time of the first failure until a commit succeeds', async () => {
    const clock = new ManualClock();
    let failure: Error | undefined;
    const { write } = SqliteAdapter.prototype;
    const spy = vi.spyOn(SqliteAdapter.prototype, 'write').mockImplementation(function (this: SqliteAdapter, document) {
      return failure === undefined ? write.call(this, document) : Promise.reject(failure);
    });
    onTestFinished(() => spy.mockRestore());
    const store = await createLowdbStore(temporaryDirectory(), { clock });
    const commit = () => store.commit([writeText('a', 'x')]);
    failure = new NotLeading('another replica leads');
    await expect(commit()).rejects.toThrow('another replica leads');
    expect(store.failure).toBeUndefined();
    failure = new Error('the disk is full');
    const since = new Date(clock.now()).toISOString();
    for (let count = 0; count < 2; count++) {
      await expect(commit()).rejects.toThrow('the disk is full');
      expect(store.failure).toEqual({ reason: expect.stringContaining('the disk is full'), since });
      await clock.advance(1_000);
    }
    failure = undefined;
    await commit();
    expect(store.failure).toBeUndefined();
    await store.close();
  });
});

describe('events', () => {
  it('keep their ids over backup and restore', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    for (let index = 0; index < 30; index++) await store.commit([], [eventOf(`${index}`)]);
    const { events } = await store.events({ after: 0, limit: 100 });
    await store.close();
    const backup = join(temporaryDirectory(), 'backup');
    await backUpStore(directory, backup);
    const other = join(temporaryDirectory(), 'other');
    await restoreStore(other, backup, { force: false, now: 0, renew: () => [] });
    for (const place of [directory, other]) {
      const reopened = await createLowdbStore(place);
      expect((await reopened.events({ after: 0, limit: 100 })).events).toEqual(events);
      await reopened.close();
    }
  });
});

describe('opening a store', () => {
  it('refuses a network file system', () => {
    expect(() => refuseNetwork('/srv/state', 0x6969)).toThrow('/srv/state is on a network file system (NFS)');
    expect(() => refuseNetwork(temporaryDirectory())).not.toThrow();
  });

  it('refuses a directory that is a file', async () => {
    const path = join(temporaryDirectory(), 'state');
    writeFileSync(path, '');
    await expect(createLowdbStore(path)).rejects.toThrow('EEXIST');
  });
});

function eventOf(reason: string): NewEvent {
  const event = { instance: 'shop', time: '2026-11-20T10:13:56.000Z', resource: 'web-1', from: null, to: 'done' };
  return { ...event, reason, commit: null, client: null };
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

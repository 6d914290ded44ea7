import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import type { NewEvent } from '../../src/model/instance-event.ts';
import type { Change } from '../../src/model/rows.ts';
import { backUpStore } from '../../src/store/back-up-store.ts';
import { encodeFrame } from '../../src/store/frame.ts';
import { createLowdbStore, type LowdbStoreOptions } from '../../src/store/lowdb-store.ts';
import { restoreStore } from '../../src/store/restore-store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { describeStore } from '../contract/store.ts';
import { pausingSlices } from '../support/pausing-slices.ts';
import { textRow, writeText } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

describeStore('lowdb', async () => placeOf({}));
describeStore('lowdb, with a snapshot after almost every commit', async () => placeOf({ compactionBytes: 100 }));
describeStore('lowdb, with a record for every row', async () => placeOf({ recordLength: 1 }));
describeStore('lowdb, with a pause after every step of work', async () => placeOf({ inSlices: pausingSlices() }));
describeStore('lowdb, with tables that every commit replaces', async () => placeOf({ changedInPlace: 0 }));

it('pauses while it writes a commit of many rows, and shows none of them until all are there', async () => {
  const seen: number[] = [];
  const inSlices = pausingSlices(() => seen.push(store.list('node').size));
  const store = await createLowdbStore(join(temporaryDirectory(), 'state'), { inSlices });
  const rows = Array.from({ length: 350 }, (_, index) => writeText(`row-${index}`, 'x'));
  const written = store.commit(rows);
  const later = store.commit([writeText('later', 'y')]);
  await Promise.all([written, later]);
  expect(seen.length).toBeGreaterThan(3);
  expect(new Set(seen)).toEqual(new Set([0]));
  expect(store.list('node').size).toBe(351);
  await store.close();
});

it('encodes at most a hundred rows between two pauses', async () => {
  let encoded = 0;
  const perStep: number[] = [];
  const inSlices = pausingSlices(() => {
    perStep.push(encoded);
    encoded = 0;
  });
  const store = await createLowdbStore(join(temporaryDirectory(), 'state'), { inSlices, recordLength: 10_000 });
  const rows = Array.from({ length: 1_000 }, (_, index): Change => {
    const toJSON = (): unknown => {
      encoded += 1;
      return textRow('x');
    };
    const value = Object.defineProperty(textRow('x'), 'toJSON', { value: toJSON });
    return { kind: 'node', name: `row-${index}`, value, expected: undefined };
  });
  await store.commit(rows);
  perStep.push(encoded);
  const ofAll = perStep.reduce((sum, count) => sum + count, 0);
  expect(ofAll).toBeGreaterThanOrEqual(1_000);
  expect(Math.max(...perStep)).toBeLessThanOrEqual((100 * ofAll) / 1_000);
  await store.close();
});

it('changes many rows in copies of their tables, which replace them in the step in which the commit resolves', async () => {
  let isSaved = false;
  const seen: (readonly [rows: number, isSaved: boolean])[] = [];
  const look = (): unknown => seen.push([store.list('node').size, isSaved]);
  const options = { inSlices: pausingSlices(look), changedInPlace: 200 };
  const directory = join(temporaryDirectory(), 'state');
  const store = await createLowdbStore(directory, options);
  await store.commit([writeText('few', 'x')]);
  const before = store.list('node');
  seen.length = 0;
  const rows = Array.from({ length: 350 }, (_, index) => writeText(`row-${index}`, 'x'));
  const later = store.commit(rows).then(() => {
    isSaved = true;
    return store.commit([writeText('later', 'y')]);
  });
  await later;
  expect(seen.length).toBeGreaterThan(3);
  expect(seen.filter(([shown, saved]) => shown !== (saved ? 351 : 1))).toEqual([]);
  // Nothing was done to the tables that were shown before.
  expect(before.size).toBe(1);
  expect(store.list('node').size).toBe(352);
  await store.close();
  const reopened = await createLowdbStore(directory);
  expect(reopened.list('node').size).toBe(352);
  await reopened.close();
});

it('shows the rows of a commit with many events in the step in which it resolves', async () => {
  let isSaved = false;
  const seen: (readonly [rows: number, isSaved: boolean])[] = [];
  const look = (): unknown => seen.push([store.list('node').size, isSaved]);
  const store = await createLowdbStore(join(temporaryDirectory(), 'state'), { inSlices: pausingSlices(look) });
  const events = Array.from({ length: 350 }, (_, index) => eventOf(`${index}`));
  await store.commit([writeText('a', 'x')], events).then(() => {
    isSaved = true;
  });
  expect(seen.length).toBeGreaterThan(2);
  expect(seen.filter(([rows, saved]) => rows > 0 && !saved)).toEqual([]);
  expect((await store.events('shop', { after: 0, limit: 1_000 })).events).toHaveLength(350);
  await store.close();
});

it('refuses a commit of many rows as a whole where it conflicts with one that came before', async () => {
  const store = await createLowdbStore(join(temporaryDirectory(), 'state'), { inSlices: pausingSlices() });
  const rows = Array.from({ length: 350 }, (_, index) => writeText(`row-${index}`, 'x'));
  const first = store.commit([writeText('row-349', 'first')]);
  await expect(store.commit(rows)).rejects.toThrow('was changed meanwhile');
  await first;
  expect(store.list('node').size).toBe(1);
  await store.close();
});

function placeOf(options: LowdbStoreOptions) {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  return {
    open: () => createLowdbStore(join(directory, 'state'), options),
    remove: () => rm(directory, { recursive: true }),
  };
}

describe('files', () => {
  it('are for their owner only, and so is the directory', async () => {
    const directory = join(temporaryDirectory(), 'deep', 'state');
    const store = await createLowdbStore(directory, { compactionBytes: 100 });
    await store.commit([writeText('a', 'x'.repeat(200))]);
    await store.close();
    expect(modeOf(directory)).toBe(0o700);
    expect(modeOf(join(directory, 'journal'))).toBe(0o600);
    expect(modeOf(join(directory, 'snapshot'))).toBe(0o600);
  });

  it('are so whatever the umask, and so is the lock', async () => {
    const directory = join(temporaryDirectory(), 'state');
    const before = process.umask(0);
    try {
      const store = await createLowdbStore(directory, { compactionBytes: 100 });
      await store.commit([writeText('a', 'x'.repeat(200))]);
      const held = readdirSync(directory).filter((name) => name.startsWith('lock'));
      expect(held.map((name) => [name, modeOf(join(directory, name))])).toEqual([
        ['lock', 0o600],
        ['lock-owner', 0o600],
      ]);
      await store.close();
      expect(modeOf(directory)).toBe(0o700);
      for (const name of ['journal', 'snapshot']) expect(modeOf(join(directory, name))).toBe(0o600);
    } finally {
      process.umask(before);
    }
  });

  it.each(['0750', '0701', '0770', '0755', '0777'])('are not put into a directory of the mode %s', async (mode) => {
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

  it('say what they are, in one line a record', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    await store.commit([writeText('a', 'one')]);
    await store.close();
    const [head, record] = readFileSync(join(directory, 'journal'), 'utf8').split('\n');
    expect(head).toMatch(/^[0-9a-f]{8} [0-9a-f]{8} \{"format":"treeline-journal","version":4,"after":0\}$/);
    expect(record?.slice(18)).toBe(`{"sequence":1,"rows":[${JSON.stringify(['node', 'a', textRow('one')])}]}`);
  });

  it('are one journal record for all commits that wait at the same time', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    await Promise.all(['a', 'b', 'c'].map((name) => store.commit([writeText(name, name)])));
    await store.close();
    expect(readFileSync(join(directory, 'journal'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
  });
});

describe('compaction', () => {
  it('comes in time also where the snapshot is larger than the journal may become', async () => {
    const directory = temporaryDirectory();
    const options = { compactionBytes: 1_000, journalBytesLarge: 5_000 };
    const store = await createLowdbStore(directory, options);
    await store.commit([writeText('large', 'x'.repeat(20_000))]);
    for (let round = 0; round < 60; round++) {
      await store.commit([writeText('a', String(round).padStart(500, '0'), store.read('node', 'a'))]);
    }
    await store.close();
    expect(statSync(join(directory, 'snapshot')).size).toBeGreaterThan(20_000);
    expect(statSync(join(directory, 'journal')).size).toBeLessThan(6_000);
  });

  it('keeps the journal in proportion to the rows', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory, { compactionBytes: 10_000 });
    for (let round = 0; round < 300; round++) {
      await store.commit([writeText('a', String(round).padStart(200, '0'), store.read('node', 'a'))]);
    }
    await store.close();
    expect(existsSync(join(directory, 'snapshot'))).toBe(true);
    expect(statSync(join(directory, 'journal')).size).toBeLessThan(11_000);
    expect(store.journalBytes).toBeGreaterThan(300 * 200);
    const reopened = await createLowdbStore(directory);
    expect(reopened.read('node', 'a')?.oid).toBe('299'.padStart(200, '0'));
    await reopened.close();
  });

  it('is not done while the snapshot is more than half as large as the journal', async () => {
    const directory = temporaryDirectory();
    let store = await createLowdbStore(directory, { compactionBytes: 100 });
    await store.commit([writeText('large', 'x'.repeat(10_000))]);
    await store.close();
    const { ino } = statSync(join(directory, 'snapshot'));
    store = await createLowdbStore(directory, { compactionBytes: 100 });
    await store.commit([writeText('b', 'x'.repeat(1000))]);
    await store.close();
    expect(statSync(join(directory, 'snapshot')).ino).toBe(ino);
    expect(statSync(join(directory, 'journal')).size).toBeGreaterThan(1000);
  });

  it('fails no commit, is logged, and is tried again once the journal has grown further', async () => {
    const directory = temporaryDirectory();
    const lines: string[] = [];
    const log = createLog('warn', { write: (line) => lines.push(line) });
    mkdirSync(join(directory, 'snapshot.new'));
    const store = await createLowdbStore(directory, { compactionBytes: 1000, log });
    for (let index = 0; index < 15; index++) await store.commit([writeText(`row-${index}`, 'x'.repeat(100))]);
    rmdirSync(join(directory, 'snapshot.new'));
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('no snapshot could be written');
    for (let index = 15; index < 20; index++) await store.commit([writeText(`row-${index}`, 'x'.repeat(100))]);
    await store.close();
    expect(existsSync(join(directory, 'snapshot'))).toBe(true);
    const reopened = await createLowdbStore(directory);
    expect(reopened.list('node').size).toBe(20);
    await reopened.close();
  });
});

describe('limits', () => {
  it('refuse the commit that is one too many to wait, and save the others', async () => {
    const store = await createLowdbStore(temporaryDirectory());
    const commits = Array.from({ length: 10_001 }, (_, index) => store.commit([writeText(`row-${index}`, 'x')]));
    const results = await Promise.allSettled(commits);
    expect(results.findIndex((result) => result.status === 'rejected')).toBe(10_000);
    await expect(commits[10_000]).rejects.toThrow('10000 commits wait for the disk already. Nothing was saved');
    expect(store.list('node').size).toBe(10_000);
    await store.close();
  });
});

describe('events', () => {
  it('are there exactly where the rows of their commit are, wherever the journal ends', async () => {
    const directory = temporaryDirectory();
    const journal = join(directory, 'journal');
    const store = await createLowdbStore(directory, { recordLength: 60 });
    for (const name of ['a', 'b', 'c']) {
      await store.commit([writeText(name, name), writeText(`${name}2`, name)], [eventOf(name), eventOf(name)]);
    }
    await store.close();
    const whole = readFileSync(journal);
    for (let length = whole.indexOf(10) + 1; length < whole.length; length += 7) {
      writeFileSync(journal, whole.subarray(0, length));
      const cut = await createLowdbStore(directory);
      const names = [...cut.list('node').keys()];
      const { events } = await cut.events('shop', { after: 0, limit: 100 });
      expect(events.map(({ reason }) => reason)).toEqual(names.map((name) => name.slice(0, 1)));
      await cut.close();
    }
  });

  it('survive a new snapshot, a backup and its restore, and keep their ids', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory, { compactionBytes: 1_000 });
    for (let index = 0; index < 30; index++) await store.commit([], [eventOf(`${index}`)]);
    const { events } = await store.events('shop', { after: 0, limit: 100 });
    await store.close();
    expect(existsSync(join(directory, 'snapshot'))).toBe(true);
    const backup = join(temporaryDirectory(), 'backup');
    await backUpStore(directory, backup);
    const other = join(temporaryDirectory(), 'other');
    await restoreStore(other, backup, { force: false, now: 0, renew: () => [] });
    for (const place of [directory, other]) {
      const reopened = await createLowdbStore(place);
      expect((await reopened.events('shop', { after: 0, limit: 100 })).events).toEqual(events);
      await reopened.close();
    }
  });
});

describe('a store of version 2', () => {
  it('is opened as it is, and written anew so that an older program refuses it', async () => {
    const directory = temporaryDirectory();
    const paths = ['journal', 'snapshot'].map((name) => join(directory, name));
    const store = await createLowdbStore(directory, { compactionBytes: 100 });
    await store.commit([writeText('a', 'x'.repeat(200))]);
    await store.commit([writeText('b', 'two')]);
    await store.close();
    for (const path of paths) {
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      const head = JSON.stringify({ ...JSON.parse((lines[0] ?? '').slice(18)), version: 2 });
      const rest = lines.slice(1).map((line) => `${line}\n`);
      writeFileSync(path, Buffer.concat([encodeFrame(head), Buffer.from(rest.join(''))]));
    }
    const opened = await createLowdbStore(directory);
    expect([...opened.list('node').keys()]).toEqual(['a', 'b']);
    await opened.close();
    for (const path of paths) expect(readFileSync(path, 'utf8').split('\n')[0]).toContain('"version":4');
  });
});

describe('opening', () => {
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

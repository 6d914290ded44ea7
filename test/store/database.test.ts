// The file of a store after something else than Treeline wrote to it, after a crash in the middle of a commit, and on a full disk.
import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../src/store/database.ts';
import type { KeptRow } from '../../src/store/row-json.ts';
import type { KeptEvent } from '../../src/store/store-document.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let path: string;

beforeEach(() => {
  path = join(temporaryDirectory(), 'store.sqlite');
});

function open(): Database {
  return new Database({ path, isReadOnly: false, use: 'store' });
}

/** Saves a row and an event a commit, each named after its number. */
function commitUntil(database: Database, revision: number): void {
  for (let next = database.state.revision + 1; next <= revision; next++) {
    save(database, next, [['node', `row-${next}`, `{"oid":"${next}"}`]], [[next, 'shop', '{}']]);
  }
}

function save(database: Database, revision: number, rows: readonly KeptRow[], events: readonly KeptEvent[] = []): void {
  database.save({ since: revision - 1, revision, rows, events, isTrim: false });
}

/** Opens the file, reads it, and returns how many commits are there; the message of the error where it is refused. */
function found(): number | string {
  let database: Database | undefined;
  try {
    database = open();
    const rows = database.rows();
    const { events } = database.events({ after: 0, limit: 1_000 });
    expect(rows.map(([, name]) => name).sort()).toEqual(events.map(({ event }) => `row-${event.id}`).sort());
    expect(rows).toHaveLength(database.state.revision);
    return rows.length;
  } catch (error) {
    expect(error).toBeInstanceOf(StoreError);
    return String(error);
  } finally {
    database?.close();
  }
}

/** What a process that is killed leaves: the files as they are while it has them open. */
function killed(revision: number): { readonly file: Buffer; readonly log: Buffer } {
  const database = open();
  commitUntil(database, revision);
  const left = { file: readFileSync(path), log: readFileSync(`${path}-wal`) };
  database.close();
  return left;
}

function leave({ file, log }: { readonly file: Buffer; readonly log: Buffer }): void {
  rmSync(`${path}-shm`, { force: true });
  writeFileSync(path, file);
  writeFileSync(`${path}-wal`, log);
}

describe('after a crash', () => {
  it('every earlier commit is kept wherever the log of the last one ends', () => {
    const database = open();
    commitUntil(database, 3);
    const before = readFileSync(`${path}-wal`).length;
    database.close();
    const left = killed(4);
    const log = Buffer.concat([left.log, Buffer.alloc(0)]);
    for (let length = 0; length < log.length; length += 89) {
      leave({ ...left, log: log.subarray(0, length) });
      expect(found()).toBe(3);
      expect(found()).toBe(3);
    }
    leave(left);
    expect(found()).toBe(4);
    expect(before).toBeGreaterThan(0);
  });

  it('a file that does not match its log is refused', () => {
    const database = open();
    commitUntil(database, 3);
    database.close();
    const other = new DatabaseSync(path);
    other.exec("UPDATE rows SET revision = 4 WHERE name = 'row-2'");
    other.close();
    expect(found()).toContain('the node "row-2" is newer than the last commit');
  });
});

describe('the store refuses a file', () => {
  it.each([
    ['of another program', () => writeFileSync(path, 'hello\n'.repeat(100)), 'file is not a database'],
    ['that is cut off', () => truncateSync(path, 8192), 'is damaged'],
    ['that is empty', () => truncateSync(path, 0), 'it has 0 bytes'],
    [
      'that is missing while its log exists',
      () => renameSync(path, `${path}-wal`),
      'it is missing, though its log of commits is there',
    ],
    ['of another SQLite program', () => execute('PRAGMA application_id = 7'), 'it is not a file of Treeline'],
    [
      'of another version',
      () => execute('PRAGMA user_version = 7'),
      'another version of Treeline: it has format version 7, not 8',
    ],
  ])('%s', (_case, damage, message) => {
    const database = open();
    commitUntil(database, 3);
    database.close();
    damage();
    expect(found()).toContain(message);
    expect(found()).toContain(path);
  });

  function execute(statement: string): void {
    const database = new DatabaseSync(path);
    database.exec(statement);
    database.close();
  }
});

describe('on a full disk', () => {
  it('a commit fails as a whole, and succeeds once there is room', () => {
    const database = new Database({ path, isReadOnly: false, use: 'store', pagesMax: 40 });
    commitUntil(database, 2);
    for (const count of [1, 40]) {
      const rows = Array.from({ length: count }, (_, index): KeptRow => ['node', `${index}`, 'x'.repeat(200_000)]);
      expect(() => save(database, 3, rows)).toThrow('database or disk is full');
    }
    commitUntil(database, 3);
    expect(database.rows()).toHaveLength(3);
    database.close();
    expect(found()).toBe(3);
  });
});

it('the store refuses the next commit after one that was saved although it failed', () => {
  const database = open();
  commitUntil(database, 2);
  expect(() => save(database, 2, [])).toThrow('has commit 2, and 1 was expected. Restart Treeline');
  commitUntil(database, 3);
  database.close();
});

it('the store keeps the newest 100,000 events of all instances', () => {
  const database = open();
  const events = Array.from({ length: 100_001 }, (_, index): KeptEvent => [index + 1, `i-${index % 101}`, '{}']);
  database.save({ since: 0, revision: 1, rows: [], events, isTrim: true });
  const { events: kept, isGap } = database.events({ after: 0, limit: 200_000 });
  expect([kept.length, kept[0]?.event.id, isGap]).toEqual([100_000, 2, true]);
  expect(database.events({ after: 1, limit: 1 }).isGap).toBe(false);
  database.close();
});

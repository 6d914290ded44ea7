// The file of a store after something else than Treeline wrote to it, after a crash in the middle of a commit, and on a full disk.
import { mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Database } from '../../src/store/database.ts';
import type { Piece } from '../../src/store/piece.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let path: string;

beforeEach(() => {
  path = join(temporaryDirectory(), 'store.sqlite');
});

function open(isReadOnly = false): Database {
  return new Database({ path, isReadOnly, use: 'store' });
}

/** Saves a row and an event a commit, each named after its number. */
function commitUntil(database: Database, revision: number): void {
  for (let next = database.revision + 1; next <= revision; next++) {
    database.begin(false);
    database.put({ rows: [['node', `row-${next}`, `{"oid":"${next}"}`]], events: [['shop', next, '{}']] }, next);
    database.finish(next);
  }
}

function contentOf(database: Database): Piece {
  const pieces = [...database.batches()];
  return { rows: pieces.flatMap(({ rows }) => rows), events: pieces.flatMap(({ events }) => events) };
}

/** Opens the file, reads it, and returns how many commits are there; the message of the error where it is refused. */
function found(): number | string {
  let database: Database | undefined;
  try {
    database = open();
    const { rows, events } = contentOf(database);
    expect(rows.map(([, name]) => name).sort()).toEqual(events.map(([, id]) => `row-${id}`).sort());
    expect(rows).toHaveLength(database.revision);
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
  it('every commit before is there, wherever the log of the last one ends, and the next start finds no damage', () => {
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

  it('a row that is newer than the last commit is told: the file and its log are not of one moment', () => {
    const database = open();
    commitUntil(database, 3);
    database.close();
    const other = new DatabaseSync(path);
    other.exec("UPDATE rows SET revision = 4 WHERE name = 'row-2'");
    other.close();
    expect(found()).toContain('the row of the node "row-2" is of commit 4, and the last commit that is there is 3');
    const again = new DatabaseSync(path);
    again.exec("UPDATE rows SET revision = 2 WHERE name = 'row-2'; UPDATE events SET revision = 9 WHERE id = 3");
    again.close();
    expect(found()).toContain('the event 3 of "shop" is of commit 9, and the last commit that is there is 3');
  });

  it('a commit that was not finished is not there', () => {
    const database = open();
    commitUntil(database, 2);
    database.begin(false);
    database.put({ rows: [['node', 'row-3', 'x'.repeat(3_000_000)]], events: [] }, 3);
    const left = { file: readFileSync(path), log: readFileSync(`${path}-wal`) };
    database.cancel();
    commitUntil(database, 3);
    database.close();
    leave(left);
    expect(found()).toBe(2);
  });
});

describe('refused is a file', () => {
  it.each([
    ['of another program', () => writeFileSync(path, 'hello\n'.repeat(100)), 'file is not a database'],
    ['that is cut off', () => truncateSync(path, 8192), 'is damaged'],
    ['that is empty', () => truncateSync(path, 0), 'it has 0 bytes'],
    [
      'that is gone, with its log still there',
      () => renameSync(path, `${path}-wal`),
      'it is missing, though its log of commits is there',
    ],
    ['of another SQLite program', () => execute('PRAGMA application_id = 7'), 'it is no file of Treeline'],
    [
      'of another version',
      () => execute('PRAGMA user_version = 5'),
      'another version of Treeline: it has format version 5, not 6',
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
  it('a commit fails whole, also a small one at its end, and succeeds once there is room', () => {
    const database = new Database({ path, isReadOnly: false, use: 'store', pagesMax: 40 });
    commitUntil(database, 2);
    for (const pieces of [1, 40]) {
      expect(() => {
        try {
          database.begin(false);
          for (let index = 0; index < pieces; index++) {
            database.put({ rows: [['node', `large-${index}`, 'x'.repeat(200_000)]], events: [] }, 3);
          }
          database.finish(3);
        } finally {
          database.cancel();
        }
      }).toThrow('database or disk is full');
    }
    commitUntil(database, 3);
    expect(contentOf(database).rows).toHaveLength(3);
    database.close();
    expect(found()).toBe(3);
  });
});

describe('a disk that fails', () => {
  it('in the middle of a commit, and then when the file is opened again, is tried again later', () => {
    const database = open();
    commitUntil(database, 2);
    const execute = DatabaseSync.prototype.exec;
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, statement) {
      execute.call(this, statement);
      if (statement !== 'COMMIT') return;
      vi.restoreAllMocks();
      renameSync(path, `${path}.away`);
      mkdirSync(path);
      throw new Error('disk I/O error');
    });
    expect(() => commitUntil(database, 3)).toThrow('EISDIR');
    expect(() => database.begin(false)).toThrow('EISDIR');
    database.cancel();
    rmdirSync(path);
    renameSync(`${path}.away`, path);
    expect(database.revision).toBe(3);
    commitUntil(database, 4);
    database.close();
    expect(found()).toBe(4);
  });

  it('and stays so, is no obstacle to an end', () => {
    const database = open();
    commitUntil(database, 2);
    database.begin(false);
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(() => {
      throw new Error('disk I/O error');
    });
    expect(() => database.finish(3)).toThrow('disk I/O error');
    expect(() => database.close()).not.toThrow();
    vi.restoreAllMocks();
  });
});

it('is read while another process writes, as of one moment', () => {
  const database = open();
  commitUntil(database, 50);
  const reader = open(true);
  const batches = reader.batches();
  const first = batches.next().value;
  database.begin(false);
  database.put({ rows: [['node', 'row-1', null]], events: [['shop', 1, null]] }, 51);
  database.finish(51);
  const rest = [...batches];
  expect([first, ...rest].flatMap((piece) => piece?.rows ?? [])).toHaveLength(50);
  reader.close();
  database.close();
});

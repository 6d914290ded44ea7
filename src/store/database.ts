// Keeps the rows and events of a store in a SQLite file. It blocks its thread: database-thread.ts runs it in one of its
// own.
import { closeSync, existsSync, openSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { reasonOf } from '../base/wording.ts';
import { ALL_EVENTS, type KeptEvent, type Piece, ROW_FRAME_BYTES, type Saved } from './piece.ts';
import type { KeptRow } from './row-json.ts';
import { newerVersion, StoreError, StoreUnavailable } from './store-error.ts';

/** "Tree", so that `file` and SQLite's tools know whose file this is. */
const APPLICATION_ID = 0x54726565;
const FORMAT_VERSION = 6;
const FILE_MODE = 0o600;
const BATCH_LENGTH = 256 * 1024;
const WAL_BYTES_MAX = 64 * 1024 * 1024;
/** 8 GiB: several times the limits of rows and events. */
const PAGES_MAX = 2 ** 21;
const BUSY_MS = 5_000;

/** Types of file systems, as statfs(2) tells them, on which two machines may each hold the only lock. */
const NETWORK = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x517b, 'SMB'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
]);

const SCHEMA = `
  CREATE TABLE rows (
    kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, revision INTEGER NOT NULL, UNIQUE (kind, name)
  ) STRICT;
  CREATE TABLE events (
    instance TEXT NOT NULL, id INTEGER NOT NULL, value TEXT, revision INTEGER NOT NULL, UNIQUE (instance, id)
  ) STRICT;
  CREATE TABLE state (revision INTEGER NOT NULL) STRICT;
  INSERT INTO state VALUES (0);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT_VERSION};
`;

/** A file, whether it may be made and changed, and what it is called in messages. */
export interface DatabaseUse {
  readonly path: string;
  readonly isReadOnly: boolean;
  readonly use: 'store' | 'backup';
  /** The limit of the file, in pages of 4 KiB. */
  readonly pagesMax?: number;
}

/** Throws StoreError where a directory is on a file system that several machines share. */
export function refuseNetwork(directory: string, type = statfsSync(directory).type): void {
  const name = NETWORK.get(type);
  if (name === undefined) return;
  throw new StoreError(
    `${directory} is on a network file system (${name}), where locks do not keep a second controller out. Use a local disk.`,
  );
}

/** The open file. One commit at a time: `begin`, `put` for each piece, then `finish` or `cancel`. */
export class Database {
  readonly #use: DatabaseUse;
  #open: { readonly database: DatabaseSync; readonly statements: Statements };
  #saved = { bytes: 0, growth: 0 };
  /** What a crash left behind the last commit in the log must not look like damage after the next. */
  #isLogEmpty = true;

  /** Throws StoreError where the file is damaged, of another program or version, or cannot be read. */
  constructor(use: DatabaseUse) {
    this.#use = use;
    this.#open = this.#opened();
  }

  /** The number of the last commit; 0 before the first. */
  get revision(): number {
    this.#openAgain();
    return this.#told(() => Number(this.#open.statements.state.get()?.revision));
  }

  /** Yields all rows, then all events, some at a time. Throws StoreError where one of them is not as it was written. */
  *batches(): Generator<Piece> {
    const { statements } = this.#open;
    let rows: KeptRow[] = [];
    let events: KeptEvent[] = [];
    let length = 0;
    const last = this.revision;
    for (const { kind, name, value, revision } of this.#iterated(statements.allRows)) {
      if (Number(revision) > last) throw this.#tooNew(`the row of the ${kind} "${name}"`, { revision, last });
      rows.push([kind as string, name as string, value as string]);
      length += (value as string).length;
      if (length < BATCH_LENGTH) continue;
      yield { rows, events };
      [rows, length] = [[], 0];
    }
    for (const { instance, id, value, revision } of this.#iterated(statements.allEvents)) {
      if (Number(revision) > last) throw this.#tooNew(`the event ${id} of "${instance}"`, { revision, last });
      events.push([instance as string, id as number, value as string | null]);
      length += (value as string | null)?.length ?? 0;
      if (length < BATCH_LENGTH) continue;
      yield { rows, events };
      [rows, events, length] = [[], [], 0];
    }
    yield { rows, events };
  }

  /** `isWhole`: what is there goes. */
  begin(isWhole: boolean): void {
    this.#openAgain();
    if (!this.#isLogEmpty) emptyLog(this.#open.database);
    this.#isLogEmpty = true;
    this.#saved = { bytes: 0, growth: 0 };
    this.#open.database.exec('BEGIN IMMEDIATE');
    if (isWhole) this.#open.database.exec('DELETE FROM rows; DELETE FROM events');
  }

  put({ rows, events }: Piece, revision: number): void {
    for (const row of rows) this.#putRow(row, revision);
    for (const event of events) this.#putEvent(event, revision);
  }

  /**
   * Makes the commit durable. Where the disk failed, it looks whether the commit is there all the same. Throws what
   * SQLite says where nothing was saved.
   */
  finish(revision: number): Saved {
    const { database, statements } = this.#open;
    statements.setState.run(revision);
    try {
      database.exec('COMMIT');
    } catch (error) {
      // A commit whose fsync failed may be in the log, where the next start would find it.
      database.close();
      if (this.revision !== revision) throw error;
    }
    return this.#saved;
  }

  cancel(): void {
    const { database } = this.#open;
    try {
      if (database.isOpen && database.isTransaction) database.exec('ROLLBACK');
    } catch {
      // To close it rolls back, too, and the error that led here says more.
      database.close();
    }
  }

  /** Moves everything into the one file, which alone is left. */
  close(): void {
    if (this.#open.database.isOpen) this.#open.database.close();
  }

  #putRow([kind, name, value]: KeptRow, revision: number): void {
    const { rowLength, setRow, removeRow } = this.#open.statements;
    const before = rowLength.get(kind, name)?.length as number | undefined;
    const frame = Buffer.byteLength(kind) + Buffer.byteLength(name) + ROW_FRAME_BYTES;
    if (before !== undefined) this.#saved.growth -= before + frame;
    if (value === null) {
      removeRow.run(kind, name);
      this.#saved.bytes += frame;
      return;
    }
    const length = Buffer.byteLength(value) + frame;
    setRow.run(kind, name, value, revision);
    this.#saved.growth += length;
    this.#saved.bytes += length;
  }

  #putEvent([instance, id, value]: KeptEvent, revision: number): void {
    const { addEvent, dropEvents } = this.#open.statements;
    if (value === null) dropEvents.run(instance, id);
    if (id === ALL_EVENTS) return;
    addEvent.run(instance, id, value, revision);
    this.#saved.bytes += (value?.length ?? 0) + ROW_FRAME_BYTES;
  }

  *#iterated(statement: StatementSync): Generator<Record<string, unknown>> {
    try {
      yield* statement.iterate();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #told<Value>(step: () => Value): Value {
    try {
      return step();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Where a commit has failed, and the file could not be opened then. */
  #openAgain(): void {
    if (!this.#open.database.isOpen) this.#open = this.#opened();
  }

  #opened(): { database: DatabaseSync; statements: Statements } {
    const { path, isReadOnly, use, pagesMax = PAGES_MAX } = this.#use;
    let database: DatabaseSync | undefined;
    try {
      if (!isReadOnly && !existsSync(path)) {
        if (existsSync(`${path}-wal`)) throw this.#damaged('it is missing, though its log of commits is there');
        makeEmpty(path);
      }
      // Its error says more than SQLite's.
      if (!isReadOnly) closeSync(openSync(path, 'r+'));
      // SQLite would take it for a new one, and remove its log.
      if (statSync(path, { throwIfNoEntry: false })?.size === 0) throw this.#damaged('it has 0 bytes');
      // A reader in the middle of a backup is waited for.
      const opened = new DatabaseSync(path, { timeout: BUSY_MS, readOnly: isReadOnly });
      database = opened;
      this.#requireVersion(opened);
      // A backup is one file, which can be read where nothing can be written. A store that was written as one gets its
      // log here.
      if (!isReadOnly) opened.exec(`PRAGMA journal_mode = ${use === 'store' ? 'WAL' : 'DELETE'}`);
      if (!isReadOnly) this.#requireIntegrity(opened);
      opened.exec(
        `PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${WAL_BYTES_MAX}; PRAGMA max_page_count = ${pagesMax}`,
      );
      this.#isLogEmpty = isReadOnly || isLogEmptied(opened);
      const statements = prepare(opened);
      // All that is read is of one moment.
      if (isReadOnly) opened.exec('BEGIN');
      return { database: opened, statements };
    } catch (error) {
      database?.close();
      throw this.#failed(error);
    }
  }

  #requireVersion(database: DatabaseSync): void {
    const { path } = this.#use;
    const version = pragma(database, 'user_version');
    if (pragma(database, 'application_id') !== APPLICATION_ID) throw this.#damaged('it is no file of Treeline');
    if (version !== FORMAT_VERSION) throw newerVersion(path, `format version ${version}, not ${FORMAT_VERSION}`);
  }

  #requireIntegrity(database: DatabaseSync): void {
    const found = database.prepare('PRAGMA integrity_check(1)').get()?.integrity_check;
    if (found !== 'ok') throw this.#damaged(String(found));
  }

  #failed(error: unknown): unknown {
    if (isDiskFailing(error)) return this.#unavailable(reasonOf(error));
    if (error instanceof StoreError || !isDamage(error)) return error;
    return this.#damaged(reasonOf(error));
  }

  #unavailable(why: string): StoreUnavailable {
    const { path, use } = this.#use;
    return new StoreUnavailable(`The ${use} ${path} cannot be used: ${why}. Free space on that disk or repair it.`);
  }

  /** The file and its log are not of one moment: one of them was put back beside the other. */
  #tooNew(what: string, { revision, last }: { readonly revision: unknown; readonly last: number }): StoreError {
    return this.#damaged(`${what} is of commit ${revision}, and the last commit that is there is ${last}`);
  }

  #damaged(what: string): StoreError {
    const { path, use } = this.#use;
    if (use === 'backup') {
      return new StoreError(
        `The backup ${path} is damaged, or is no backup: ${what}. It was whole when it was written. Use another one.`,
      );
    }
    return new StoreError(
      `The store ${path} is damaged: ${what}. It was whole when it was written, so look at the disk. Keep a copy of the ` +
        'directory, then restore a backup. Treeline changes nothing until then.',
    );
  }
}

type Statements = ReturnType<typeof prepare>;

function prepare(database: DatabaseSync) {
  return {
    // In the order of the index: in another one, all rows would go through a temporary file outside of the directory.
    allRows: database.prepare('SELECT kind, name, value, revision FROM rows ORDER BY kind, name'),
    allEvents: database.prepare('SELECT instance, id, value, revision FROM events ORDER BY instance, id'),
    state: database.prepare('SELECT revision FROM state'),
    setState: database.prepare('UPDATE state SET revision = ?'),
    rowLength: database.prepare('SELECT octet_length(value) AS length FROM rows WHERE kind = ? AND name = ?'),
    setRow: database.prepare('INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)'),
    removeRow: database.prepare('DELETE FROM rows WHERE kind = ? AND name = ?'),
    addEvent: database.prepare('INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?)'),
    dropEvents: database.prepare('DELETE FROM events WHERE instance = ? AND id <= ?'),
  };
}

function pragma(database: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/** Moves all commits from the log into the file. */
function emptyLog(database: DatabaseSync): void {
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Returns false if the disk is full: the rows can be read, and the next commit tries again. */
function isLogEmptied(database: DatabaseSync): boolean {
  try {
    emptyLog(database);
    return true;
  } catch (error) {
    if (isDiskFailing(error)) return false;
    throw error;
  }
}

/**
 * Makes a file without rows. It is whole from the moment at which it has its name: one of 0 bytes is damaged, and not
 * new.
 */
function makeEmpty(path: string): void {
  const aside = `${path}.empty`;
  rmSync(aside, { force: true });
  // SQLite gives the files beside it the same mode.
  closeSync(openSync(aside, 'wx', FILE_MODE));
  const database = new DatabaseSync(aside);
  try {
    database.exec(`PRAGMA journal_mode = OFF; BEGIN; ${SCHEMA} COMMIT`);
  } finally {
    database.close();
  }
  // The name is durable with the first commit: SQLite makes the names of its logs so.
  renameSync(aside, path);
}

function isDamage(error: unknown): boolean {
  return DAMAGE.has(codeOfSqlite(error));
}

/** Returns the primary code of an error of SQLite; 0 for any other error. */
function codeOfSqlite(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
}

/** Returns true if the disk is full, or does not work. */
function isDiskFailing(error: unknown): boolean {
  return DISK.has(codeOfSqlite(error));
}

/** SQLITE_IOERR, SQLITE_FULL. */
const DISK = new Set([10, 13]);
/** SQLITE_ERROR (of these statements: the tables are not as they were made), SQLITE_CORRUPT, SQLITE_NOTADB. */
const DAMAGE = new Set([1, 11, 26]);

// Keeps the rows and events of a store in a SQLite file. It blocks its thread, so database-thread.ts runs it in a
// separate one.
import { closeSync, existsSync, openSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../base/wording.ts';
import type { EventRange, ListedPage } from '../model/instance-event.ts';
import { addEvents, readEvents, SCHEMA_OF_EVENTS, trimEvents } from './event-table.ts';
import type { KeptRow } from './row-json.ts';
import type { Batch } from './store-document.ts';
import { newerVersion, StoreError, StoreUnavailable } from './store-error.ts';

/** "Tree", which identifies the file for `file` and SQLite's tools. */
const APPLICATION_ID = 0x54726565;
const FORMAT_VERSION = 8;
const FILE_MODE = 0o600;
const WAL_BYTES_MAX = 64 * 1024 * 1024;
/** 8 GiB: several times the limits of rows and events. */
const PAGES_MAX = 2 ** 21;
const BUSY_MS = 5_000;

/** File system types (see statfs(2)) on which two machines may both get an exclusive lock. */
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
  CREATE TABLE state (revision INTEGER NOT NULL) STRICT;
  INSERT INTO state VALUES (0);
  ${SCHEMA_OF_EVENTS}
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT_VERSION};
`;

/** A file, whether it may be created and changed, and its name in messages. */
export interface DatabaseUse {
  readonly path: string;
  readonly isReadOnly: boolean;
  readonly use: 'store' | 'backup';
  /** The limit of the file, in pages of 4 KiB. */
  readonly pagesMax?: number;
}

/** The number of the last commit, and the id of the newest event. */
export interface DatabaseState {
  readonly revision: number;
  readonly lastEvent: number;
}

/** Throws StoreError if a directory is on a network file system. */
export function refuseNetwork(directory: string, type = statfsSync(directory).type): void {
  const name = NETWORK.get(type);
  if (name === undefined) return;
  throw new StoreError(
    `${directory} is on a network file system (${name}), where locks do not keep a second controller out. Use a local disk.`,
  );
}

/** The open file. */
export class Database {
  readonly #use: DatabaseUse;
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  /** The first rows of the next batch. */
  #added: KeptRow[] = [];

  /** Throws StoreError if the file is damaged or unreadable, or belongs to another program or version. */
  constructor(use: DatabaseUse) {
    this.#use = use;
    this.#database = this.#opened();
    this.#statements = prepare(this.#database);
  }

  get state(): DatabaseState {
    return this.#explained(() => this.#statements.state.get() as unknown as DatabaseState);
  }

  /** Returns all rows, by kind and name. */
  rows(): readonly KeptRow[] {
    return this.#explained(() => {
      const rows = this.#statements.rows.all();
      return rows.map((row) => [row.kind, row.name, row.value] as unknown as KeptRow);
    });
  }

  events(range: EventRange): ListedPage {
    return this.#explained(() => readEvents(this.#database, range));
  }

  /** Adds rows to the next batch. */
  add(rows: readonly KeptRow[]): void {
    this.#added.push(...rows);
  }

  /** Saves a batch with the added rows atomically. Throws the error of SQLite. */
  save({ since, revision, rows, events, isTrim }: Batch): void {
    const all = [...this.#added, ...rows];
    this.#added = [];
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      this.#requireRevision(since);
      for (const [kind, name, value] of all) {
        if (value === null) this.#statements.removeRow.run(kind, name);
        else this.#statements.setRow.run(kind, name, value, revision);
      }
      addEvents(this.#database, events);
      if (isTrim) trimEvents(this.#database);
      this.#statements.setRevision.run(revision);
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Writes a copy as of the last commit into a new file, even while another process writes. */
  copyTo(path: string): void {
    closeSync(openSync(path, 'wx', FILE_MODE));
    this.#database.prepare('VACUUM INTO ?').run(path);
  }

  /** Moves the log into the file. */
  close(): void {
    this.#database.close();
  }

  #requireRevision(since: number): void {
    const { revision } = this.state;
    if (revision === since) return;
    throw new StoreError(
      `${this.#use.path} has commit ${revision}, and ${since} was expected. Restart Treeline: it reads what was saved.`,
    );
  }

  #explained<Value>(step: () => Value): Value {
    try {
      return step();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #opened(): DatabaseSync {
    const { path, isReadOnly, use, pagesMax = PAGES_MAX } = this.#use;
    let database: DatabaseSync | undefined;
    try {
      if (!isReadOnly && !existsSync(path)) {
        if (existsSync(`${path}-wal`)) throw this.#damaged('it is missing, though its log of commits is there');
        makeEmpty(path);
      }
      // This call fails with a better error than SQLite's.
      if (!isReadOnly) closeSync(openSync(path, 'r+'));
      // SQLite would treat an empty file as new, and remove its log.
      if (statSync(path, { throwIfNoEntry: false })?.size === 0) throw this.#damaged('it has 0 bytes');
      const opened = new DatabaseSync(path, { timeout: BUSY_MS, readOnly: isReadOnly });
      database = opened;
      this.#requireVersion(opened);
      // A backup has no log, so that it can be read on a read-only disk. A store that was restored from a backup gets
      // its log here.
      if (!isReadOnly) opened.exec(`PRAGMA journal_mode = ${use === 'store' ? 'WAL' : 'DELETE'}`);
      this.#requireIntegrity(opened);
      opened.exec(
        'PRAGMA temp_store = MEMORY; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ' +
          `${WAL_BYTES_MAX}; PRAGMA max_page_count = ${pagesMax}`,
      );
      return opened;
    } catch (error) {
      database?.close();
      throw this.#failed(error);
    }
  }

  #requireVersion(database: DatabaseSync): void {
    const { path } = this.#use;
    const version = pragma(database, 'user_version');
    if (pragma(database, 'application_id') !== APPLICATION_ID) throw this.#damaged('it is not a file of Treeline');
    if (version !== FORMAT_VERSION) throw newerVersion(path, `format version ${version}, not ${FORMAT_VERSION}`);
  }

  #requireIntegrity(database: DatabaseSync): void {
    const found = database.prepare('PRAGMA integrity_check(1)').get()?.integrity_check;
    if (found !== 'ok') throw this.#damaged(String(found));
    // The file and its log do not belong together: one of them was replaced.
    const newer = database.prepare('SELECT kind, name FROM rows, state WHERE rows.revision > state.revision').get();
    if (newer !== undefined) throw this.#damaged(`the ${newer.kind} "${newer.name}" is newer than the last commit`);
  }

  #failed(error: unknown): unknown {
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
    if (DAMAGE.has(code)) return this.#damaged(reasonOf(error));
    if (!DISK.has(code)) return error;
    const { path, use } = this.#use;
    const why = reasonOf(error);
    return new StoreUnavailable(`The ${use} ${path} cannot be used: ${why}. Free space on that disk or repair it.`);
  }

  #damaged(what: string): StoreError {
    const { path, use } = this.#use;
    if (use === 'backup') {
      return new StoreError(
        `The backup ${path} is damaged, or is not a backup: ${what}. It was whole when it was written. Use another one.`,
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
    state: database.prepare('SELECT revision, (SELECT coalesce(max(id), 0) FROM events) AS lastEvent FROM state'),
    // In the order of the index. Another order would need a temporary file outside the directory.
    rows: database.prepare('SELECT kind, name, value FROM rows ORDER BY kind, name'),
    setRevision: database.prepare('UPDATE state SET revision = ?'),
    setRow: database.prepare('INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)'),
    removeRow: database.prepare('DELETE FROM rows WHERE kind = ? AND name = ?'),
  };
}

function pragma(database: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/**
 * Creates a file without rows. It gets its name when it is complete, so a file of 0 bytes is damaged, not new.
 */
function makeEmpty(path: string): void {
  const aside = `${path}.empty`;
  rmSync(aside, { force: true });
  // SQLite creates the log files with the same mode.
  closeSync(openSync(aside, 'wx', FILE_MODE));
  const database = new DatabaseSync(aside);
  try {
    database.exec(`PRAGMA journal_mode = OFF; BEGIN; ${SCHEMA} COMMIT`);
  } finally {
    database.close();
  }
  // The name becomes durable with the first commit: SQLite syncs the directory when it creates its log.
  renameSync(aside, path);
}

/** Primary codes of a disk that is full or does not work: SQLITE_IOERR, SQLITE_FULL. */
const DISK = new Set([10, 13]);
/** SQLITE_ERROR (for these statements: the tables were changed), SQLITE_CORRUPT, SQLITE_NOTADB. */
const DAMAGE = new Set([1, 11, 26]);

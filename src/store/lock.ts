// Keeps a second process out of a directory, by the lock that SQLite takes on an empty database file. The system releases
// it when the process ends, however it ends. See docs/decisions/0004-the-store.md.
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../base/wording.ts';
import { DirectoryInUse, StoreError } from './store-error.ts';

const FILE_MODE = 0o600;
const SQLITE_BUSY = 5;
const SQLITE_NOTADB = 26;
const ONE_CONTROLLER =
  'Two controllers must not share it: stop the other one, or give this one a directory of its own.';

/** A directory that this process has for itself until the lock is disposed of. */
export interface DirectoryLock extends Disposable {
  /** Throws StoreError once the lock's file was removed or replaced, since another process may have the directory then. */
  check(): void;
}

/**
 * Takes a directory for this process. Throws StoreError while another has it, or where its file system has no locks.
 * `advice` says what to do about another process.
 */
export function lockDirectory(directory: string, advice: string = ONE_CONTROLLER): DirectoryLock {
  const path = join(directory, 'lock');
  const owner = join(directory, 'lock-owner');
  const database = openLock(path, (error) => {
    if (error.errcode === SQLITE_BUSY)
      return new DirectoryInUse(`The store in ${directory} is in use by ${nameIn(owner)}. ${advice}`, { cause: error });
    const why =
      error.errcode === SQLITE_NOTADB
        ? `${path} has the name of the file that locks the store. Move it away.`
        : `The store in ${directory} cannot be locked: ${reasonOf(error)}. Use a local disk that this user may write to.`;
    return new StoreError(why, { cause: error });
  });
  const { ino } = statSync(path);
  noteOwner(owner);
  return {
    check() {
      if (statSync(path, { throwIfNoEntry: false })?.ino === ino) return;
      throw new StoreError(
        `${path}, which locks the store, was removed: another controller may have started there. Nothing was saved. ` +
          'Stop both, then start one.',
      );
    },
    [Symbol.dispose]() {
      removeOwner(owner);
      database.close();
    },
  };
}

/** Only one connection may reserve a database for writing. Nothing is ever written, so the file stays empty. */
function openLock(path: string, explain: (error: Error & { readonly errcode?: number }) => StoreError): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
    chmodSync(path, FILE_MODE);
    return database;
  } catch (error) {
    database?.close();
    if (!(error instanceof Error)) throw error;
    throw explain(error);
  }
}

/** The lock itself does not tell who has it. Never a reason not to start: on a full disk the owner has no name. */
function noteOwner(path: string): void {
  const isNoted = attempt(() => {
    writeFileSync(path, `${process.pid} ${hostname()}\n`, { mode: FILE_MODE });
    return true;
  });
  if (!isNoted) removeOwner(path);
}

function removeOwner(path: string): void {
  attempt(() => rmSync(path, { force: true }));
}

function nameIn(path: string): string {
  const text = attempt(() => readFileSync(path, 'utf8')) ?? '';
  const [pid = '', host = ''] = text.trim().split(' ');
  if (!/^\d+$/.test(pid)) return 'another process';
  return host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
}

/** Returns what a step on the owner's file returns, undefined where it fails: that costs no more than the owner's name. */
function attempt<Value>(step: () => Value): Value | undefined {
  try {
    return step();
  } catch {
    return undefined;
  }
}

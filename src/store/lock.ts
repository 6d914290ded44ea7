// Keeps a second process out of a directory, with SQLite's lock on an empty database file. The system releases the lock
// when the process ends or is killed. See docs/decisions/0004-the-store.md.
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../base/wording.ts';
import { DirectoryInUse, StoreError } from './store-error.ts';

const FILE_MODE = 0o600;
const SQLITE_BUSY = 5;
const SQLITE_NOTADB = 26;
const ONE_CONTROLLER =
  'Two controllers must not share it: stop the other one, or give this one a directory of its own.';

/**
 * Locks a directory for this process, until the returned lock is disposed. Throws StoreError while another process has
 * the lock, or if the file system has no locks. `advice`: the remedy if another process has the lock.
 */
export function lockDirectory(directory: string, advice: string = ONE_CONTROLLER): Disposable {
  const path = join(directory, 'lock');
  const database = openLock(path, (error) => {
    if (error.errcode === SQLITE_BUSY)
      return new DirectoryInUse(`The store in ${directory} is in use by another process. ${advice}`, { cause: error });
    const why =
      error.errcode === SQLITE_NOTADB
        ? `${path} has the name of the lock file of the store. Move it away.`
        : `The store in ${directory} cannot be locked: ${reasonOf(error)}. Use a local disk that this user may write to.`;
    return new StoreError(why, { cause: error });
  });
  return { [Symbol.dispose]: () => database.close() };
}

/** Only one connection may reserve a database for writing. It never writes, so the file stays empty. */
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

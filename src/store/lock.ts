// Keeps a second process out of a directory, by the lock that SQLite takes on an empty database file. The system
// releases it when the process ends, however it ends. See docs/decisions/0004-the-store.md.
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
 * Takes a directory for this process, until the returned lock is disposed of. Throws StoreError while another process
 * has it, or if its file system has no locks. `advice` is the remedy if another process has it.
 */
export function lockDirectory(directory: string, advice: string = ONE_CONTROLLER): Disposable {
  const path = join(directory, 'lock');
  const database = openLock(path, (error) => {
    if (error.errcode === SQLITE_BUSY)
      return new DirectoryInUse(`The store in ${directory} is in use by another process. ${advice}`, { cause: error });
    const why =
      error.errcode === SQLITE_NOTADB
        ? `${path} has the name of the file that locks the store. Move it away.`
        : `The store in ${directory} cannot be locked: ${reasonOf(error)}. Use a local disk that this user may write to.`;
    return new StoreError(why, { cause: error });
  });
  return { [Symbol.dispose]: () => database.close() };
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

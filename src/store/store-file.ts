// Writes a backup of a store, restores one, and copies one into another database. After an interruption at any point,
// the next start finds either the old or the new store.

import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { link, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { withoutPause } from '../base/breathe.ts';
import { reasonOf, whyUnusable } from '../base/wording.ts';
import type { Change } from '../model/rows.ts';
import { Database, type DatabaseUse } from './database.ts';
import { ALL_EVENTS, keptEvent } from './event-table.ts';
import { makeDirectory, syncDirectory } from './files.ts';
import { lockDirectory } from './lock.ts';
import { keptRow } from './row-json.ts';
import { SqliteAdapter } from './sqlite-adapter.ts';
import { type DocumentAdapter, rowsOf, type StoreDocument, setRow, type WholeStore } from './store-document.ts';
import { StoreError } from './store-error.ts';

/** The suffixes of SQLite's additional files. */
const BESIDE = ['-wal', '-shm', '-journal'];

/** Returns the path of the file of a store. */
export function storePath(directory: string): string {
  return join(directory, 'store.sqlite');
}

/** A finished backup. */
export interface BackedUp {
  readonly document: StoreDocument;
  /** The backup's length. */
  readonly bytes: number;
}

/**
 * Writes a backup of the store in `directory` to the file `target`, replacing an existing one, and resolves with facts
 * about the finished file. It contains every commit that was acknowledged before the call, even while a controller
 * runs. Throws StoreError, and leaves no file, if there is no store, if it is damaged, or if the file cannot be
 * written.
 */
export async function backUpStore(directory: string, target: string): Promise<BackedUp> {
  const path = storePath(directory);
  if (!existsSync(path)) throw new StoreError(`There is no store in ${directory}. Nothing was backed up.`);
  // Includes the log.
  return await writeBackup(target, (aside) => usingStore(path, (database) => database.copyTo(aside)));
}

/** Writes a consistent backup of another database. */
export async function exportStore(source: DocumentAdapter, target: string): Promise<BackedUp> {
  const whole = await readWhole(source);
  return await writeBackup(target, (aside) =>
    usingFile({ path: aside, isReadOnly: false, use: 'backup' }, (adapter) => fillStore(adapter, whole)),
  );
}

/** Returns the changes to a backup that account for the time since it was made. */
export type RenewRows = (backup: StoreDocument) => readonly Change[];

/** Fills another, empty database with a renewed backup. Resolves with the document. */
export async function importStore(backup: string, target: DocumentAdapter, renew: RenewRows): Promise<StoreDocument> {
  const { document, events } = await readBackup(backup);
  const changes = renew(document);
  for (const change of changes) setRow(document.tables, change);
  if (changes.length > 0) document.revision += 1;
  await fillStore(target, { document, events });
  return document;
}

/** Writes rows and events into an empty database. */
async function fillStore(target: DocumentAdapter, { document, events }: WholeStore): Promise<void> {
  await target.read();
  const rows = [...rowsOf(document.tables)].map(keptRow);
  const { revision } = document;
  const unsaved = { since: 0, revision, rows, events: events.map(keptEvent), isTrim: false };
  await target.write({ ...document, unsaved });
}

/** Resolves with the content of a backup. Throws StoreError if it is damaged, not a backup, or unreadable. */
export async function readBackup(path: string): Promise<WholeStore> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new StoreError(`There is no backup ${path}.`);
  if (found.isDirectory()) throw new StoreError(`The backup ${path} cannot be read: it is a folder`);
  try {
    return await usingFile({ path, isReadOnly: true, use: 'backup' }, readWhole);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The backup ${path} cannot be read: ${whyUnusable(error)}`, { cause: error });
  }
}

/** Resolves with the content of a database, without events that other processes added after its document was read. */
async function readWhole(source: DocumentAdapter): Promise<WholeStore> {
  const document = await source.read();
  const { events } = await source.events({ ...ALL_EVENTS, before: document.lastEvent + 1 });
  return { document, events };
}

/** The permission to overwrite, and the time of the restore. */
export interface RestoreOptions {
  /** Also replaces a store with rows or an unreadable store. */
  readonly force: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly renew: RenewRows;
}

/** The restored rows. */
export interface Restored {
  readonly document: StoreDocument;
  /** The folder with the former files; null if there was nothing to keep. */
  readonly former: string | null;
}

/**
 * Restores the file `backup` into the store in `directory`. Throws StoreError, without changes, if the backup is
 * damaged, if a process uses the store, or if `force` is needed to replace it.
 */
export async function restoreStore(directory: string, backup: string, options: RestoreOptions): Promise<Restored> {
  await readBackup(backup);
  try {
    await makeDirectory(directory);
    using _lock = lockDirectory(directory, 'Stop that controller first. Nothing was restored.');
    const present = presentStore(directory);
    if (present !== undefined && !options.force) throw present;
    return await replaceStore(directory, backup, { ...options, isKept: present !== undefined });
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The store in ${directory} could not be restored: ${reasonOf(error)}`, { cause: error });
  }
}

async function replaceStore(
  directory: string,
  backup: string,
  { now, renew, isKept }: RestoreOptions & { readonly isKept: boolean },
): Promise<Restored> {
  const path = storePath(directory);
  const aside = `${path}.new`;
  const folder = join(directory, `replaced-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}`);
  // Removes the leftover of an interrupted restore.
  await removeDatabase(aside);
  return await writeFile(path, aside, async () => {
    const document = await usingFile({ path: aside, isReadOnly: false, use: 'backup' }, (adapter) =>
      importStore(backup, adapter, renew),
    );
    if (isKept) await keepAside(directory, folder);
    for (const end of BESIDE) await rm(path + end, { force: true });
    return { document, former: isKept ? folder : null };
  });
}

/** Links the files of a store into a new folder, and resolves when that is durable. */
async function keepAside(directory: string, folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  const path = storePath(directory);
  for (const file of ['', ...BESIDE].map((end) => path + end)) {
    if (existsSync(file)) await link(file, join(folder, basename(file)));
  }
  await syncDirectory(folder);
  await syncDirectory(directory);
}

async function removeDatabase(path: string): Promise<void> {
  for (const end of ['', ...BESIDE]) await rm(path + end, { force: true });
}

async function writeBackup(target: string, write: (aside: string) => Promise<void> | void): Promise<BackedUp> {
  // Two commands may write to one target.
  const aside = `${target}.${randomUUID()}.new`;
  try {
    await writeFile(target, aside, () => write(aside));
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const why = existsSync(dirname(target)) ? whyUnusable(error) : 'its folder does not exist: create it first';
    throw new StoreError(`The backup could not be written to ${target}: ${why}`, { cause: error });
  }
  const { document } = await readBackup(target);
  return { document, bytes: (await stat(target)).size };
}

/** Writes a file under a temporary name, and renames it when it is durable. Leaves no file if that fails. */
async function writeFile<Result>(path: string, aside: string, write: () => Promise<Result> | Result): Promise<Result> {
  try {
    const result = await write();
    await using file = await open(aside, 'r+');
    await file.sync();
    await rename(aside, path);
    await syncDirectory(dirname(path));
    return result;
  } catch (error) {
    await removeDatabase(aside);
    throw error;
  }
}

function usingStore<Result>(path: string, work: (database: Database) => Result): Result {
  const database = new Database({ path, isReadOnly: true, use: 'store' });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

async function usingFile<Result>(use: DatabaseUse, work: (adapter: SqliteAdapter) => Promise<Result>): Promise<Result> {
  const adapter = new SqliteAdapter(use, withoutPause);
  try {
    return await work(adapter);
  } finally {
    await adapter.close();
  }
}

/**
 * Returns why the existing store must not be replaced; undefined if there is none, or if it has no rows. If it can be
 * read, its log is empty afterwards, so that the log can be removed before the new file exists.
 */
function presentStore(directory: string): StoreError | undefined {
  const path = storePath(directory);
  if (![path, `${path}-wal`].some((file) => existsSync(file))) return undefined;
  const refusal = (present: string): StoreError =>
    new StoreError(
      `The store in ${directory} ${present}. To replace it with the backup, say --force; its files are kept aside then. ` +
        'Nothing was restored.',
    );
  try {
    const database = new Database({ path, isReadOnly: false, use: 'store' });
    const { revision } = database.state;
    database.close();
    return revision === 0 ? undefined : refusal(`has ${revision} commits already`);
  } catch (error) {
    if (error instanceof StoreError) return refusal(`cannot be read (${error.message})`);
    throw error;
  }
}

/**
 * Returns the revision of the store in a directory; undefined if there is no store. Throws StoreError if it is
 * damaged.
 */
export function storeRevision(directory: string): number | undefined {
  const path = storePath(directory);
  return existsSync(path) ? usingStore(path, ({ state }) => state.revision) : undefined;
}

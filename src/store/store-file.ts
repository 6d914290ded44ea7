// Writes a whole store into a file of its own, and puts such a file in its place: a backup is written so, and a restore
// puts one back. Interrupted at any point, the next start finds the store that was there, or the new one.

import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { withoutPause } from '../base/breathe.ts';
import { reasonOf, whyUnusable } from '../base/wording.ts';
import type { Change } from '../model/rows.ts';
import type { DatabaseUse } from './database.ts';
import { makeDirectory, syncDirectory } from './files.ts';
import { lockDirectory } from './lock.ts';
import { SqliteAdapter } from './sqlite-adapter.ts';
import type { Store } from './store.ts';
import { countRows, type StoreDocument, setRow } from './store-document.ts';
import { StoreError } from './store-error.ts';

/** The files that SQLite keeps beside one. */
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
 * Writes a backup of the store in `directory` to the file `target`, in place of one of that name, and returns what a
 * look at the finished file found. It holds every commit that was acknowledged before the call, also while a controller
 * runs. Throws StoreError where there is no store, where it is damaged, and where the file cannot be written: then none
 * is left.
 */
export async function backUpStore(directory: string, target: string): Promise<BackedUp> {
  const document = await readStore(directory);
  if (document === undefined) throw new StoreError(`There is no store in ${directory}. Nothing was backed up.`);
  return await writeBackup(document, target);
}

/** Writes a backup of a document as {@link backUpStore} does. */
export async function writeBackup(document: StoreDocument, target: string): Promise<BackedUp> {
  try {
    // Two commands may write to one target.
    await writeFile(target, document, { aside: `${target}.${randomUUID()}.new` });
  } catch (error) {
    const why = existsSync(dirname(target)) ? whyUnusable(error) : 'its folder is not there: make it first';
    throw new StoreError(`The backup could not be written to ${target}: ${why}`, { cause: error });
  }
  return { document: await readBackup(target), bytes: (await stat(target)).size };
}

/** Returns what a backup holds. Throws StoreError where it is damaged, is no backup, or cannot be read. */
export async function readBackup(path: string): Promise<StoreDocument> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new StoreError(`There is no backup ${path}.`);
  if (found.isDirectory()) throw new StoreError(`The backup ${path} cannot be read: it is a folder`);
  try {
    return await readFile({ path, isReadOnly: true, use: 'backup' });
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The backup ${path} cannot be read: ${whyUnusable(error)}`, { cause: error });
  }
}

/** The permission to overwrite, and the time of the restore. */
export interface RestoreOptions {
  /** Over a store that holds rows too, or that cannot be read. */
  readonly force: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Returns the changes that account for the time since the backup. */
  readonly renew: (backup: Pick<Store, 'list'>) => readonly Change[];
}

/** The restored rows. */
export interface Restored {
  readonly document: StoreDocument;
  /** The folder with the former files, or the backup of the former rows; null where there was nothing worth keeping. */
  readonly former: string | null;
}

/**
 * Makes the store in `directory` hold what the file `backup` holds. Throws StoreError, and leaves everything as it was,
 * where the backup is damaged, where a process has the store, and where it would be overwritten without `force`.
 */
export async function restoreStore(directory: string, backup: string, options: RestoreOptions): Promise<Restored> {
  const document = await readBackup(backup);
  try {
    await makeDirectory(directory);
    using _lock = lockDirectory(directory, 'Stop that controller first. Nothing was restored.');
    await refuseOtherOwner(directory);
    const present = await presentStore(directory);
    if (present !== undefined && !options.force) throw present;
    for (const change of options.renew({ list: (kind) => document.tables[kind] })) setRow(document.tables, change);
    const former = await replaceStore(directory, {
      document,
      now: options.now,
      name: 'replaced',
      isKept: present !== undefined,
    });
    return { document: (await readStore(directory)) ?? document, former };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The store in ${directory} could not be restored: ${reasonOf(error)}`, { cause: error });
  }
}

interface Replacement {
  readonly document: StoreDocument;
  readonly now: number;
  /** How the folder is named in which the present files are kept, if they are. */
  readonly name: string;
  readonly isKept: boolean;
}

/** Returns the folder with the files that were there, or null. */
async function replaceStore(directory: string, { document, now, name, isKept }: Replacement): Promise<string | null> {
  const present = ['', ...BESIDE]
    .map((end) => basename(storePath(directory)) + end)
    .filter((file) => existsSync(join(directory, file)));
  const folder = join(directory, `${name}-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}`);
  const path = storePath(directory);
  const isOver = async (): Promise<void> => {
    // Not before: each try that finds no room for the new file would leave another folder.
    if (isKept) await keepAside(directory, folder, present);
    await removeFiles(
      directory,
      BESIDE.map((end) => basename(path) + end),
    );
  };
  // The lock keeps others out, and what an interrupted restore has left under this name goes.
  await writeFile(path, document, { aside: `${path}.new`, isOver });
  return isKept ? folder : null;
}

/** Copies the files as they are into a new folder, and resolves once that is durable. */
async function keepAside(directory: string, folder: string, files: readonly string[]): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  try {
    for (const file of files) await copyDurably(join(directory, file), join(folder, file));
    await syncDirectory(folder);
    await syncDirectory(directory);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const copy = await open(to, 'r');
  try {
    await copy.sync();
  } finally {
    await copy.close();
  }
}

async function removeFiles(directory: string, names: readonly string[]): Promise<void> {
  for (const name of names) await rm(join(directory, name), { force: true });
  await syncDirectory(directory);
}

/**
 * Writes a document into a file, first into `aside` and then in the place of one of that name; `isOver` is called in
 * between, once the new file is durable. Where it throws before, the old file is as it was. The new one is written as a
 * backup is: SQLite's log would keep what a full disk does not let into the file.
 */
async function writeFile(
  path: string,
  document: StoreDocument,
  { aside, isOver }: { readonly aside: string; readonly isOver?: () => Promise<void> },
): Promise<void> {
  const removeAside = (): Promise<void> =>
    removeFiles(
      dirname(path),
      ['', ...BESIDE].map((end) => basename(aside) + end),
    );
  await removeAside();
  try {
    const adapter = new SqliteAdapter({ path: aside, isReadOnly: false, use: 'backup' }, withoutPause);
    try {
      await adapter.read();
      await adapter.write(document);
    } finally {
      await adapter.close();
    }
    await isOver?.();
    await rename(aside, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await removeAside();
    throw error;
  }
}

async function readFile(use: DatabaseUse): Promise<StoreDocument> {
  const adapter = new SqliteAdapter(use, withoutPause);
  try {
    return await adapter.read();
  } finally {
    await adapter.close();
  }
}

/**
 * Returns what a store holds; undefined where there is none. Only for one that no process
 * has may `isReadOnly` be false: then all of it is in its one file afterwards, and nothing in SQLite's log.
 */
async function readStore(directory: string, isReadOnly = true): Promise<StoreDocument | undefined> {
  const path = storePath(directory);
  if (![path, `${path}-wal`].some((file) => existsSync(file))) return undefined;
  try {
    return await readFile({ path, isReadOnly, use: 'store' });
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The store in ${directory} cannot be read: ${whyUnusable(error)}`, { cause: error });
  }
}

/**
 * Returns why the present store must not be replaced; undefined where there is none, or one without rows. Its log of
 * commits is empty afterwards if it can be read: it can be removed before the new file is there.
 */
async function presentStore(directory: string): Promise<StoreError | undefined> {
  const refusal = (present: string): StoreError =>
    new StoreError(
      `The store in ${directory} ${present}. To replace it with the backup, say --force; its files are kept aside then. ` +
        'Nothing was restored.',
    );
  try {
    const document = await readStore(directory, false);
    const rows = document === undefined ? 0 : countRows(document.tables);
    return rows === 0 ? undefined : refusal(`holds rows already (${rows})`);
  } catch (error) {
    if (error instanceof StoreError) return refusal(`cannot be read (${error.message})`);
    throw error;
  }
}

/** Files of another owner would be replaced by some that the controller may not read. */
async function refuseOtherOwner(directory: string): Promise<void> {
  const path = storePath(directory);
  const owner = existsSync(path) ? (await stat(path)).uid : undefined;
  const own = process.getuid?.();
  if (owner === undefined || own === undefined || owner === own) return;
  throw new StoreError(
    `The store in ${directory} belongs to the user with the id ${owner}, and you are ${own}: the controller could not ` +
      `read what is restored. Run this as that user (setpriv --reuid=${owner}, or sudo -u). Nothing was restored.`,
  );
}

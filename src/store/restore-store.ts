// Replaces a store's two files by a backup. If it is interrupted, the next start finds the old store, or the restored
// one, or refuses to start: never a mixture.

import { mkdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { reasonOf } from '../model/quote.ts';
import type { Change } from '../model/rows.ts';
import { readBackup } from './back-up-store.ts';
import { diskFiles, type Files, makeDirectory } from './files.ts';
import { JOURNAL_BYTES_MAX, Journal } from './journal.ts';
import { lockDirectory } from './lock.ts';
import { journalPath, readStoreFiles, snapshotPath } from './read-store-files.ts';
import { placeSnapshot, prepareSnapshot, readSnapshot, SNAPSHOT_BYTES_MAX } from './snapshot-file.ts';
import type { Store } from './store.ts';
import { countRows, type StoreDocument, setRow } from './store-document.ts';
import { codeOf, StoreError } from './store-error.ts';

/** Bytes that are copied at a time. */
const COPIED_BYTES = 1024 * 1024;

/** The permission to overwrite, and the time of the restore. */
export interface RestoreOptions {
  /** Also over a store that holds rows, or that cannot be read. */
  readonly force: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Returns the changes that account for the time since the backup. */
  readonly renew: (backup: Pick<Store, 'list'>) => readonly Change[];
  readonly files?: Files;
}

/** The restored rows. */
export interface Restored {
  readonly document: StoreDocument;
  /** The folder with the former files; null where there was nothing worth keeping. */
  readonly former: string | null;
}

/**
 * Makes the store in `directory` hold what the file `backup` holds. Throws StoreError, and leaves everything as it was,
 * where the backup is damaged, where a process has the store, and where it would be overwritten without `force`.
 */
export async function restoreStore(directory: string, backup: string, options: RestoreOptions): Promise<Restored> {
  const { document } = await readBackup(backup, options.files);
  try {
    await makeDirectory(directory);
    using _lock = lockDirectory(directory, 'Stop that controller first. Nothing was restored.');
    return await replaceStore(directory, document, options);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The store in ${directory} could not be restored: ${reasonOf(error)}`, { cause: error });
  }
}

async function replaceStore(directory: string, document: StoreDocument, options: RestoreOptions): Promise<Restored> {
  const { files = diskFiles, now, renew } = options;
  await refuseOtherOwner(directory);
  const isWorthKeeping = await refuseLoss(files, directory, options);
  const former = isWorthKeeping ? await keepAside(files, directory, now) : null;
  for (const change of renew({ list: (kind) => document.tables[kind] })) setRow(document.tables, change);
  await replaceFiles(files, directory, document);
  return { document: (await readStoreFiles(files, directory)).document, former };
}

/** Files of another owner would be replaced by some that the controller may not read. */
async function refuseOtherOwner(directory: string): Promise<void> {
  const owner = await ownerOf(journalPath(directory));
  const own = process.getuid?.();
  if (owner === undefined || own === undefined || owner === own) return;
  throw new StoreError(
    `The store in ${directory} belongs to the user with the id ${owner}, and you are ${own}: the controller could not ` +
      `read what is restored. Run this as that user (setpriv --reuid=${owner}, or sudo -u). Nothing was restored.`,
  );
}

async function ownerOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).uid;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns true where the present store holds anything; throws where that is so without `force`. */
async function refuseLoss(files: Files, directory: string, { force }: RestoreOptions): Promise<boolean> {
  const present = await presentStore(files, directory);
  if (present === undefined || force) return present !== undefined;
  throw new StoreError(
    `The store in ${directory} ${present}. To replace it with the backup, say --force; its files are kept aside then. ` +
      'Nothing was restored.',
  );
}

/** Returns in words what is there now, or undefined where there is nothing or a store without rows. */
async function presentStore(files: Files, directory: string): Promise<string | undefined> {
  try {
    const rows = countRows((await readStoreFiles(files, directory)).document.tables);
    return rows === 0 ? undefined : `holds rows already (${rows})`;
  } catch (error) {
    if (error instanceof StoreError) return `cannot be read (${error.message})`;
    throw error;
  }
}

/** Copies the files as they are into a new folder below, and returns its path once that is durable. */
async function keepAside(files: Files, directory: string, now: number): Promise<string> {
  const folder = join(directory, `replaced-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}`);
  await mkdir(folder, { mode: 0o700 });
  try {
    await copy(files, journalPath(directory), { folder, bytesMax: JOURNAL_BYTES_MAX });
    await copy(files, snapshotPath(directory), { folder, bytesMax: SNAPSHOT_BYTES_MAX });
    await files.syncDirectory(folder);
    await files.syncDirectory(directory);
    return folder;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function copy(files: Files, path: string, to: { folder: string; bytesMax: number }): Promise<void> {
  const from = await files.openToRead(path, to.bytesMax);
  if (from === undefined) return;
  try {
    const file = await files.create(join(to.folder, basename(path)));
    try {
      const slice = Buffer.allocUnsafe(COPIED_BYTES);
      for (let at = 0; at < from.size; at += COPIED_BYTES) {
        await file.append(slice.subarray(0, await from.read(slice, at)));
      }
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await from.close();
  }
}

/**
 * The restored document comes after everything that the old snapshot knows. So once the new journal is in place, the old
 * snapshot does not fit it, and a start in between is refused. What may fail for want of room comes before that.
 */
async function replaceFiles(files: Files, directory: string, document: StoreDocument): Promise<void> {
  const snapshot = snapshotPath(directory);
  document.sequence = Math.max(document.sequence, await lastSequence(files, snapshot)) + 1;
  await prepareSnapshot(files, snapshot, document);
  const journal = await Journal.start(files, journalPath(directory), document.sequence);
  await journal.close();
  await files.syncDirectory(directory);
  await placeSnapshot(files, snapshot);
}

/** Returns what a snapshot ends with; 0 where there is none, or one so damaged that no start takes it. */
async function lastSequence(files: Files, path: string): Promise<number> {
  try {
    return (await readSnapshot(files, path)).document.sequence;
  } catch (error) {
    if (error instanceof StoreError) return 0;
    throw error;
  }
}

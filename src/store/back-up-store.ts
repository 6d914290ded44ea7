// Writes a backup: one snapshot file with every row of a store at one moment. It reads the store's files and needs
// nothing of a running controller. restore-store.ts puts a backup back.
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { invariant } from '../model/invariant.ts';
import { whyUnusable } from '../model/quote.ts';
import { diskFiles, type Files } from './files.ts';
import { readStoreFiles, type StoreFiles } from './read-store-files.ts';
import { readSnapshot, writeSnapshot } from './snapshot-file.ts';
import type { StoreDocument } from './store-document.ts';
import { codeOf, StoreError } from './store-error.ts';

const ATTEMPTS_MAX = 3;
const PAUSE_MS = 200;

/** A finished backup. */
export interface BackedUp {
  readonly document: StoreDocument;
  /** The backup's length. */
  readonly bytes: number;
}

/**
 * Writes a backup of the store in `directory` to the file `target`, in place of one of that name, and returns what a
 * look at the finished file found. It holds every commit that was acknowledged before the call. Throws StoreError where
 * there is no store, where it is damaged, and where the file cannot be written: then none is left.
 */
export async function backUpStore(directory: string, target: string, files: Files = diskFiles): Promise<BackedUp> {
  const { document, journal } = await readWhole(files, directory);
  if (journal === undefined) throw new StoreError(`There is no store in ${directory}. Nothing was backed up.`);
  try {
    await writeSnapshot(files, target, document);
  } catch (error) {
    await rm(`${target}.new`, { force: true });
    const why = codeOf(error) === 'ENOENT' ? 'its folder is not there: make it first' : whyUnusable(error);
    throw new StoreError(`The backup could not be written to ${target}: ${why}`, { cause: error });
  }
  const written = await readBackup(target, files);
  invariant(written.document.sequence === document.sequence, 'the backup holds what was written');
  return written;
}

/** Returns what a backup holds. Throws StoreError where it is damaged, is no backup, or cannot be read. */
export async function readBackup(path: string, files: Files = diskFiles): Promise<BackedUp> {
  const read = await readSnapshot(files, path, 'backup').catch((error: unknown) => {
    throw error instanceof StoreError
      ? error
      : new StoreError(`The backup ${path} cannot be read: ${whyUnusable(error)}`);
  });
  if (read.bytes === 0) throw new StoreError(`There is no backup ${path}.`);
  return read;
}

async function readWhole(files: Files, directory: string): Promise<StoreFiles> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readStoreFiles(files, directory);
    } catch (error) {
      if (!(error instanceof StoreError)) {
        throw new StoreError(`The store in ${directory} cannot be read: ${whyUnusable(error)}`, { cause: error });
      }
      // A write that failed is cut off and another takes its place: who reads in that moment sees half of each.
      if (attempt === ATTEMPTS_MAX) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

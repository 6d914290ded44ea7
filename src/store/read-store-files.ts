// Reads a store from its two files. It takes no lock: the result is the state of one moment, even while a controller
// keeps writing.
import { join } from 'node:path';
import type { Files } from './files.ts';
import { JOURNAL_BYTES_MAX } from './journal.ts';
import { type Replayed, replayJournal } from './replay.ts';
import { readSnapshot } from './snapshot-file.ts';
import type { StoreDocument } from './store-document.ts';
import { StoreError } from './store-error.ts';

/** The content of the files of a store. */
export interface StoreFiles {
  readonly document: StoreDocument;
  /** The snapshot's length; 0 where there is none. */
  readonly snapshotBytes: number;
  /** Undefined where there is none yet. */
  readonly journal: (Replayed & { readonly bytes: number }) | undefined;
}

/** Returns the path of the snapshot of a store. */
export function snapshotPath(directory: string): string {
  return join(directory, 'snapshot');
}

/** Returns the path of the journal of a store. */
export function journalPath(directory: string): string {
  return join(directory, 'journal');
}

/**
 * Returns the document as of the last whole record; an empty one where there are no files. Throws StoreError where the
 * files are damaged or do not fit.
 */
export async function readStoreFiles(files: Files, directory: string): Promise<StoreFiles> {
  const path = journalPath(directory);
  // In this order: a snapshot that takes the old one's place in between only holds more of the journal, never less than
  // the journal goes on from. A journal that is begun anew takes the name of this one, which stays readable.
  const file = await files.openToRead(path, JOURNAL_BYTES_MAX);
  try {
    const { document, bytes: snapshotBytes } = await readSnapshot(files, snapshotPath(directory));
    if (file !== undefined) {
      const journal = { ...(await replayJournal({ path, file }, document)), bytes: file.size };
      return { document, snapshotBytes, journal };
    }
    // The first start writes a journal before any snapshot, and later ones only replace it.
    if (snapshotBytes > 0) throw journalMissing(path);
    return { document, snapshotBytes, journal: undefined };
  } finally {
    await file?.close();
  }
}

function journalMissing(path: string): StoreError {
  return new StoreError(
    `${path} is missing, though there is a snapshot beside it. Commits after that snapshot are in the journal only: ` +
      'restore a backup.',
  );
}

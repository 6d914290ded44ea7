// The limits of fetching a repository and of reading it. Tests lower them.

import { LAYOUT_BYTES_MAX } from '../model/snapshot.ts';

/** The limits of fetching and reading. */
export interface SourceLimits {
  /** The maximum size of a remote's answer, in bytes: a clone of the whole branch has to fit. */
  readonly answerBytesMax: number;
  /** The maximum number of objects per fetch: those of the whole branch have to fit. */
  readonly objectsMax: number;
  /** How long one fetch may take, in milliseconds. */
  readonly fetchMs: number;
  /** How long a remote may be silent, in milliseconds. */
  readonly silenceMs: number;
  /** Limit for files and directories below the followed directory. */
  readonly entriesMax: number;
  /** A larger file is listed but not read. */
  readonly blobBytesMax: number;
  /** Limit for all the files of one snapshot. */
  readonly snapshotBytesMax: number;
  /** Every fetch adds a pack; beyond this number the local copy is replaced. */
  readonly packsMax: number;
  /** How long git may search the history for one answer, in milliseconds. */
  readonly historyMs: number;
}

/** The default limits. */
export const SOURCE_LIMITS: SourceLimits = {
  answerBytesMax: 1024 * 1024 * 1024,
  objectsMax: 1_000_000,
  fetchMs: 10 * 60 * 1000,
  silenceMs: 60 * 1000,
  entriesMax: 100_000,
  blobBytesMax: 1024 * 1024,
  snapshotBytesMax: LAYOUT_BYTES_MAX,
  packsMax: 200,
  historyMs: 60 * 1000,
};

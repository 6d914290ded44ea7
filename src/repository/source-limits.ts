// The limits of fetching a repository and of reading it. Tests lower them.

import { LAYOUT_BYTES_MAX } from '../model/snapshot.ts';

/** The limits of fetching and reading. */
export interface SourceLimits {
  /** The maximum size of a pack, in bytes: a clone of the whole branch has to fit. */
  readonly packBytesMax: number;
  /** How long one fetch may take, in milliseconds. */
  readonly fetchMs: number;
  /** How long a remote may be silent, in milliseconds; counted in seconds. */
  readonly silenceMs: number;
  /** Limit for the files below the followed directory. */
  readonly entriesMax: number;
  /** A larger file is listed but not read. */
  readonly blobBytesMax: number;
  /** Limit for all the files of one snapshot. */
  readonly snapshotBytesMax: number;
  /** How long git may search the history for one answer, in milliseconds. */
  readonly historyMs: number;
}

/** The default limits. */
export const SOURCE_LIMITS: SourceLimits = {
  packBytesMax: 1024 * 1024 * 1024,
  fetchMs: 10 * 60 * 1000,
  silenceMs: 60 * 1000,
  entriesMax: 100_000,
  blobBytesMax: 1024 * 1024,
  snapshotBytesMax: LAYOUT_BYTES_MAX,
  historyMs: 60 * 1000,
};

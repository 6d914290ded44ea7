// Defines the version of the format of the store's files: journal, snapshot and backup.

/**
 * The version that is written. 3 added events, and fields of rows that an older program would lose; 4 writes a spec that a
 * row holds several times once, and of a changed row what has changed.
 */
export const STORE_VERSION = 4;

/** The oldest version that is read. Its files are written anew when the store is opened. */
const OLDEST_VERSION = 2;

/** Returns true if files of this version can be read. */
export function isReadable(version: unknown): version is number {
  return typeof version === 'number' && version >= OLDEST_VERSION && version <= STORE_VERSION;
}

// Defines one commit as plain data, the input of the pure stages. repository/ builds it from Git, or from a directory
// for the command line.

/** The most bytes of all files of the layout together, and of what one read of a commit may return. */
export const LAYOUT_BYTES_MAX = 64 * 1024 * 1024;

/** A file's mode in a Git tree. Symlinks (120000) and submodules (160000) are listed, never followed. */
export type FileMode = '100644' | '100755' | '120000' | '160000';

/** A file of a commit without its content. */
export interface SnapshotFile {
  readonly oid: string;
  readonly mode: FileMode;
}

/** The files of one commit below the layout's directory. */
export interface Snapshot {
  /** Full object id of the commit; empty for a directory. */
  readonly commit: string;
  /** Committer time, RFC 3339 in UTC with seconds: `2026-11-20T10:13:56Z`. */
  readonly time: string;
  /** All files below the layout's directory, by path relative to it. */
  readonly files: ReadonlyMap<string, SnapshotFile>;
  /** The content of the requested blobs, by object id. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/**
 * Returns the result of reading a commit, or the error if its content is beyond a limit, so that it can never be read.
 */
export async function orContentError<Value>(read: Promise<Value>): Promise<Value | Error> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Error && 'isOfContent' in error) return error;
    throw error;
  }
}

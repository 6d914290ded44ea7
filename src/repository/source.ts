// Defines the contract for reading commits. git-source.ts implements it for a Git branch.
import type { FollowedPlace } from '../model/rows.ts';
import { LAYOUT_BYTES_MAX, type Snapshot } from '../model/snapshot.ts';

/** Selects the files of a commit to read: returns true to include the blob's content in the snapshot. */
export type BlobFilter = (path: string, oid: string) => boolean;

/** The metadata of a commit. */
export interface Commit {
  readonly oid: string;
  /** Committer time, RFC 3339 in UTC. */
  readonly time: string;
  /** The author's name as written by the author; may be empty. */
  readonly author: string;
  readonly message: string;
  /** Object ids, first parent first. */
  readonly parents: readonly string[];
}

/** The last commit that changed a file, by path; null: not found within the limit. */
export type LastFileChanges = ReadonlyMap<string, Pick<Commit, 'oid' | 'time'> | null>;

/**
 * Follows one branch of one repository. Its answers are complete: git has verified every object reachable from a commit
 * that `fetch` returns. A failed, malicious or missing remote causes an exception, never an empty answer.
 */
export interface Source {
  readonly place: FollowedPlace;

  /**
   * Fetches the branch's head with all objects that it needs. `followed` is the active commit, if the caller knows it:
   * the copy keeps it, even after the branch was rewritten. Throws SourceError with advice, and the reason of `signal`
   * if that aborts; then the head of the local copy is unchanged.
   */
  fetch(followed: string | null, signal?: AbortSignal): Promise<Commit>;

  /** Returns true if the local copy has a commit. Throws SourceError if the copy cannot be read. */
  has(commit: string): Promise<boolean>;

  /**
   * Reads one commit of the local copy, with the blobs that `wants` selects, below `directory` (default: the followed
   * directory). Throws SourceError if the copy does not have the commit, ContentError if its content exceeds a limit.
   */
  snapshot(commit: string, wants: BlobFilter, directory?: string): Promise<Snapshot>;

  /** Returns the metadata of a commit. Throws SourceError if the local copy does not have it. */
  describe(commit: string): Promise<Commit>;

  /**
   * Returns the commits reachable from `to` and not from `from`, newest first; at most `countMax`, the oldest are
   * dropped. Throws SourceError if the local copy lacks one of the two.
   */
  commitsBetween(from: string, to: string, countMax: number): Promise<readonly Commit[]>;

  /**
   * Returns for each file the newest commit that changed it, up to `commit`; null if the search reached its limit.
   * Omits files that are not in `commit`. Paths are relative to the followed directory.
   */
  lastChanges(commit: string, paths: readonly string[], timeoutMs: number): Promise<LastFileChanges>;

  /** Returns true if `descendant` is `ancestor` or comes after it. `ancestor` may be missing in the local copy. */
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;

  close(): Promise<void>;
}

/**
 * `SourceError`: the remote, the network or the local copy failed. The message contains advice; `cause` has the
 * details. `ContentError` is a SourceError: the content of a commit exceeds a limit, so it can never be read; see
 * `orContentError`.
 */
export { ContentError, GitError as SourceError } from './run-git.ts';

/** A commit without a valid signature. */
export interface BadSignature {
  readonly commit: string;
  /** Contains the first ten digits of the commit, and the signer. */
  readonly reason: string;
}

/** Checks the signatures of commits of the local copy. Implemented by signatures.ts. */
export interface Signatures {
  /** Resolves with the first commit that has no valid signature. Throws SourceError if the check fails. */
  firstBad(commits: readonly string[]): Promise<BadSignature | undefined>;
  /** Resolves with the signer of a commit; null without a valid signature. Throws SourceError like `firstBad`. */
  signerOf(commit: string): Promise<string | null>;
}

/** Requests polls, any number of times. It does not report the change. */
export interface Trigger {
  start(poll: () => void): void;
  stop(): Promise<void>;
}

/** The limits of fetching and reading. */
export interface SourceLimits {
  /** The maximum size of a pack, in bytes. A clone of the whole branch has to fit. */
  readonly packBytesMax: number;
  /** The time limit of one fetch, in milliseconds. */
  readonly fetchMs: number;
  /** The time limit of a remote's silence, in milliseconds; rounded to seconds. */
  readonly silenceMs: number;
  /** The limit of files below the followed directory. */
  readonly entriesMax: number;
  /** A larger file is listed but not read. */
  readonly blobBytesMax: number;
  /** The limit for all files of one snapshot together. */
  readonly snapshotBytesMax: number;
  /** The time limit of one search of the history, in milliseconds. */
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

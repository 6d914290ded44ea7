// Where commits come from. The one implementation follows a Git branch (git-source.ts); reading a directory for the
// command line is directory-snapshot.ts, which makes a snapshot and follows nothing.
import type { Snapshot } from '../model/snapshot.ts';

/** Which of a commit's files are read: true to have the blob's content in the snapshot. */
export type BlobFilter = (path: string, oid: string) => boolean;

export interface Commit {
  readonly oid: string;
  /** Committer time, RFC 3339 in UTC. */
  readonly time: string;
  readonly message: string;
  /** Object ids, first parent first. */
  readonly parents: readonly string[];
}

/**
 * Follows one branch of one repository. What it answers is complete and verified: every object reachable from a
 * commit it names is there and hashes right. A remote that fails, lies or is gone is an exception, never "nothing".
 */
export interface Source {
  /**
   * Asks the remote for the branch's head and brings everything it needs here. `known` is the recorded head, whose
   * objects need no second check. Throws SourceError with advice; what was here before is then unchanged.
   */
  fetch(known: string | null): Promise<Commit>;

  /** Tells whether a commit is here. Throws SourceError where the local copy cannot be read. */
  has(commit: string): Promise<boolean>;

  /** Reads one commit that is here. Only the blobs that `wants` asks for are read. Throws SourceError if it is not here. */
  snapshot(commit: string, wants: BlobFilter): Promise<Snapshot>;

  /** Reads what a commit says of itself. Throws SourceError if it is not here. */
  describe(commit: string): Promise<Commit>;

  /**
   * Returns the commits that come with `to` and were not there with `from`, newest first; at most `countMax` of them,
   * and those beyond are the oldest. Throws SourceError if one of the two is not here.
   */
  commitsBetween(from: string, to: string, countMax: number): Promise<readonly Commit[]>;

  /** Tells whether `descendant` is `ancestor` or comes after it. */
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;

  close(): Promise<void>;
}

/** The remote, the network or the local copy failed. Its message says what to do; `cause` holds the rest. */
export { GitError as SourceError } from '../git/git-process.ts';

/** Says "look now", as often as it likes. It never says what there is to see. */
export interface Trigger {
  start(poll: () => void): void;
  stop(): Promise<void>;
}

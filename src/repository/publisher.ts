// Defines the contract for pushing commits, the counterpart of source.ts. Implemented by git-publisher.ts.

/** A commit to create: its changes and its message. */
export interface NewCommit {
  readonly author: { readonly name: string; readonly email: string };
  readonly message: string;
  /** Paths are relative to the layout's directory; null removes the file. */
  readonly edits: readonly { readonly path: string; readonly text: string | null }[];
}

/** Commits in the local copy without a ref. They may be pushed again and keep their ids. */
export interface PreparedCommits {
  readonly is: 'prepared';
  readonly base: string;
  /** Object ids, in order; the last one becomes the branch's head. */
  readonly commits: readonly string[];
}

/** Why commits are not on the remote and will not arrive there without another push. */
export type NotPublished =
  /**
   * The repository refused: missing rights, a protected branch, a hook, or another kind of object at the path of a
   * file. `byHand`: only an operator can commit this change, with git.
   */
  | { readonly is: 'refused'; readonly reason: string; readonly byHand?: boolean }
  /** The repository, or the local copy, could not be reached. */
  | { readonly is: 'not sent'; readonly reason: string };

/** The outcome of a push. Reasons are for users, and include advice. */
export type PushOutcome =
  /** The branch's head is the last commit. */
  | { readonly is: 'pushed' }
  /** The branch is neither at the last commit nor at its old head. */
  | { readonly is: 'moved' }
  | NotPublished
  /** The push was sent, and its result is unknown. */
  | { readonly is: 'unknown'; readonly reason: string };

/**
 * Pushes commits to a branch of the followed repository. Git on the remote decides: it locks, runs hooks, and may
 * refuse. External failures are values; only a bug throws.
 */
export interface Publisher {
  /**
   * Creates commits in the local copy on top of `base`, one on top of another, with the current time. Does not push.
   */
  prepare(base: string, commits: readonly NewCommit[]): Promise<PreparedCommits | NotPublished>;

  /** Pushes prepared commits to the followed branch, whose head must still be their base, or to a new branch. */
  push(prepared: PreparedCommits, branch?: string): Promise<PushOutcome>;
}

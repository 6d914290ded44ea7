// Defines the contract for pushing commits, the counterpart of source.ts. Implemented by git-publisher.ts.

/** A commit to create: its changes and its message. */
export interface NewCommit {
  readonly author: { readonly name: string; readonly email: string };
  readonly message: string;
  /** Paths are relative to the layout's directory; null removes the file. */
  readonly edits: readonly { readonly path: string; readonly text: string | null }[];
}

/** Commits in the local copy that no ref names yet. They may be pushed again and keep their ids. */
export interface PreparedCommits {
  readonly is: 'prepared';
  readonly base: string;
  /** Object ids, in order; the last one becomes the branch's head. */
  readonly commits: readonly string[];
}

/** The reasons for which commits are not on the remote, and will not arrive there without another push. */
export type NotPublished =
  /**
   * The repository refused: no permission, a protected branch, a hook, an object of another kind at the place of a
   * file. `byHand`: only an operator can commit this change, with git.
   */
  | { readonly is: 'refused'; readonly reason: string; readonly byHand?: boolean }
  /** The repository, or the local copy, could not be reached. */
  | { readonly is: 'not sent'; readonly reason: string };

/** The outcome of a push. Reasons are for people, and say what to do. */
export type PushOutcome =
  /** The branch's head is the last commit. */
  | { readonly is: 'pushed' }
  /** The branch is neither there nor at its old head. */
  | { readonly is: 'moved' }
  | NotPublished
  /** The push was sent, and its result is unknown. */
  | { readonly is: 'unknown'; readonly reason: string };

/**
 * Pushes commits to a branch of the followed repository. Git itself decides there: it locks, runs hooks, and refuses.
 * External failures are returned as values; only a bug is thrown.
 */
export interface Publisher {
  /**
   * Creates commits in the local copy on top of `base`, one after the other. Their time is now. Pushes nothing.
   */
  prepare(base: string, commits: readonly NewCommit[]): Promise<PreparedCommits | NotPublished>;

  /** Pushes prepared commits to a branch: the followed one, whose head still has to be their base, or a new one. */
  push(prepared: PreparedCommits, branch?: string): Promise<PushOutcome>;
}

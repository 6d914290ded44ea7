// Commits out: the other direction of source.ts. The one implementation is git-publisher.ts.

/** A commit to be made: what it changes, and what its log entry says. */
export interface NewCommit {
  readonly author: { readonly name: string; readonly email: string };
  readonly message: string;
  /** Paths are relative to the layout's directory; null removes the file. */
  readonly edits: readonly { readonly path: string; readonly text: string | null }[];
}

/** Commits that exist here and nowhere else yet. The same ones may be pushed again: they keep their ids. */
export interface PreparedCommits {
  readonly is: 'prepared';
  readonly base: string;
  /** Object ids, in order; the last one is what a push makes the branch's head. */
  readonly commits: readonly string[];
  /** A pack with every object that the base lacks. */
  readonly pack: Uint8Array;
}

/** Why commits are not on the remote, and cannot come there any more without another push. */
export type NotPublished =
  /** The repository said no: not allowed, a protected branch, a hook, something else at the place of a file. */
  | { readonly is: 'refused'; readonly reason: string }
  /** The repository, or the local copy, could not be reached. */
  | { readonly is: 'not sent'; readonly reason: string };

/** What became of a push. Reasons are for a person, and say what to do. */
export type PushOutcome =
  /** The branch is at the commits. */
  | { readonly is: 'pushed' }
  /** The branch is neither there nor at its old place. */
  | { readonly is: 'moved' }
  | NotPublished
  /** The push was sent, and nobody knows what became of it. */
  | { readonly is: 'unknown'; readonly reason: string };

/**
 * Puts commits on a branch of the followed repository. Git itself decides: it locks, runs hooks, and refuses what its
 * owner does not want. What fails outside is a value; only a bug is thrown.
 */
export interface Publisher {
  /** Makes commits on top of `base`, which is here, one after the other. Their time is now. Touches nothing. */
  prepare(base: string, commits: readonly NewCommit[]): Promise<PreparedCommits | NotPublished>;

  /** Pushes prepared commits to a branch: the followed one, which has to be at their base still, or a new one. */
  push(prepared: PreparedCommits, branch?: string): Promise<PushOutcome>;
}

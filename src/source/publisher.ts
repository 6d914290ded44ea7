// Commits out: the other direction of source.ts. The one implementation is git-publisher.ts.
import { SourceError } from './source.ts';

/** A commit to be made: what it changes, and what its log entry says. */
export interface NewCommit {
  readonly author: { readonly name: string; readonly email: string };
  readonly message: string;
  /** Paths are relative to the layout's directory; null removes the file. */
  readonly edits: readonly { readonly path: string; readonly text: string | null }[];
}

/** Commits that exist here and nowhere else yet. The same ones may be pushed again: they keep their ids. */
export interface PreparedCommits {
  readonly base: string;
  /** Object ids, in order; the last one is what a push makes the branch's head. */
  readonly commits: readonly string[];
  /** A pack with every object that the base lacks. */
  readonly pack: Uint8Array;
}

/**
 * Puts commits on a branch of the followed repository. Git itself decides: it locks, runs hooks, and refuses what its
 * owner does not want.
 */
export interface Publisher {
  /** Makes commits on top of `base`, which is here, one after the other. Their time is now. Touches nothing. */
  prepare(base: string, commits: readonly NewCommit[]): Promise<PreparedCommits>;

  /**
   * Pushes prepared commits to a branch: the followed one, which has to be at their base still, or a new one. Returns
   * false where the branch has moved on. Throws PushRefusedError where the repository does not want it, with its own
   * words; OutcomeUnknownError where the answer was lost; SourceError where it was not reached at all.
   */
  push(prepared: PreparedCommits, branch?: string): Promise<boolean>;
}

/** The repository said no: not allowed, a protected branch, a hook, a branch that is checked out. */
export class PushRefusedError extends SourceError {
  override readonly name: string = 'PushRefusedError';
}

/** The push was sent and nobody knows what became of it. */
export class OutcomeUnknownError extends SourceError {
  override readonly name: string = 'OutcomeUnknownError';
}

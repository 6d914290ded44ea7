// Defines what writing needs of the part that follows the branch.
import type { DesiredState } from '../../desired/desired-state.ts';
import type { Writings } from '../../model/writing.ts';
import type { PreparedCommits } from '../../repository/publisher.ts';
import type { Commit } from '../../repository/source.ts';

/** The branch, as writes see it. */
export interface BranchView {
  /**
   * Returns the desired state of the branch's head as it was known last, without asking the remote; undefined where
   * that is not followed. Only a push shows whether the branch is still there.
   */
  followed(): DesiredState | undefined;

  /**
   * Asks the remote, and resolves with the desired state of its newest commit, whose objects are here then. Throws
   * ServiceError
   * `conflict` where that commit is not followed, `not_ready` where it cannot be polled.
   */
  newest(): Promise<DesiredState>;

  /** Resolves once a commit of the branch, or one after it, is followed. Throws like `newest`. */
  desiredAt(commit: string): Promise<DesiredState>;

  /**
   * Hands over commits that are about to be pushed to the branch, with the clients that write them. The function that it
   * returns is to be called once the branch has them; it resolves like `desiredAt` for the last one.
   */
  announce(prepared: PreparedCommits, writings: Writings): () => Promise<DesiredState>;

  /**
   * Asks the remote where the branch is, followed or not; that commit's history is here afterwards. Throws SourceError.
   */
  fetch(): Promise<Commit>;

  /** Returns whether `descendant` is `ancestor` or comes after it. `ancestor` need not be here. */
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
}

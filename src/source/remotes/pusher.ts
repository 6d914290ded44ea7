// What the publisher needs of a repository, however that is reached: one branch is moved from where it has to be.
import type { RefUpdate } from './receive-pack.ts';

export interface PushOrder extends RefUpdate {
  /** Every object that the branch's old history lacks. */
  readonly pack: Uint8Array;
  /** Ends it, with its reason. */
  readonly signal: AbortSignal;
}

export interface Pusher {
  /** How messages name the repository. */
  readonly name: string;

  /**
   * Resolves to true once the branch is at the commit, also where it was before; to false where it is neither there nor
   * at its old place. Throws as {@link Publisher} says; for a new branch whose name is taken, PushRefusedError.
   */
  push(order: PushOrder): Promise<boolean>;
}

// What the publisher needs of a repository, however that is reached: one branch is moved from where it has to be.
import type { PushOutcome } from '../publisher.ts';
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
   * Pushes, and resolves with what became of it; a branch that is at the commit already counts as pushed, and a new one
   * whose name is taken as refused. Throws SourceError where the repository was not reached: nothing was sent.
   */
  push(order: PushOrder): Promise<PushOutcome>;
}

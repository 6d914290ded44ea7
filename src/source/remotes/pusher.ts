// Defines the contract for pushing to a repository over any transport: it moves one branch from its expected head.
import type { PushOutcome } from '../publisher.ts';
import type { RefUpdate } from './receive-pack.ts';

/** A move of one branch, with the objects it needs. */
export interface PushOrder extends RefUpdate {
  /** All objects that the branch's old history lacks. */
  readonly pack: Uint8Array;
  /** Aborts the push, with its reason. */
  readonly signal: AbortSignal;
}

/** Pushes to one repository. */
export interface Pusher {
  /** The name of the repository in messages. */
  readonly name: string;

  /**
   * Pushes, and resolves with the outcome; a branch that is at the commit already counts as pushed, and a new one whose
   * name is in use as refused. Throws SourceError if the repository was not reached: nothing was sent.
   */
  push(order: PushOrder): Promise<PushOutcome>;
}

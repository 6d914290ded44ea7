// The facts of a run that every watcher reads, and the report of a broken promise.
import type { ShownStore, WiredCore } from '../../src/compose/core.ts';
import type { Asked } from './asked.ts';
import type { Scheduler } from './scheduler.ts';
import type { WallTime } from './simulated-clock.ts';
import type { SimulatedGit } from './simulated-git.ts';
import type { SimulatedSite } from './simulated-site.ts';

/** A promise that did not hold, and the facts that show it. */
export interface Violation {
  readonly promise: string;
  readonly facts: string;
}

export interface Facts {
  readonly scheduler: Scheduler;
  readonly wall: WallTime;
  readonly git: SimulatedGit;
  readonly sites: readonly SimulatedSite[];
  /** The controller that runs; undefined between two lives. */
  readonly core: WiredCore | undefined;
  /** The rows and the desired state of the controller that runs, also while it stops. */
  readonly shown: ShownStore | undefined;
  /** Names of servers whose delete or replacement an operator approved, until they are gone. */
  readonly approved: Set<string>;
  /** When each digest was approved last, by the clock on the wall. */
  readonly answeredApprovals: Map<string, number>;
  /** Names of servers that an operator asked to adopt. */
  readonly adopted: Set<string>;
  /** What people asked for single servers. */
  readonly asked: Asked;
  /** When the store was lost the last time; those that were there by then are strangers' as far as anybody knows. */
  readonly orphans: Set<string>;
  /** Servers that are gone by nothing that the store knows of, until they are there again or their row is forgotten. */
  readonly goneUnasked: Set<string>;
  fail(promise: string, facts: string): void;
  tell(who: string, what: () => string): void;
}

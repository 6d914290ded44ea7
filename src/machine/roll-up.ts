// Computes the status of an instance from the states of its servers.
import type { InstanceStatus, State } from '../model/state.ts';

/** The facts about an instance, in addition to the states of its servers. */
export interface InstanceFacts {
  /** No commit wants it, and some of its servers still exist. */
  readonly isTerminating: boolean;
  readonly isSuspended: boolean;
  /** Its newest version is invalid, so it is pinned to its active version or has none. */
  readonly isInvalid: boolean;
  readonly awaitsApproval: boolean;
}

const IN_PROGRESS: ReadonlySet<State> = new Set([
  'pending',
  'creating',
  'updating',
  'deleting',
  'retrying',
  'unknown',
  'marked for delete',
]);

/** Returns the first status that applies, in the order of model/state.ts. An instance without servers is done. */
export function rollUp(facts: InstanceFacts, states: Iterable<State>): InstanceStatus {
  if (facts.isTerminating) return 'Marked for delete';
  if (facts.isSuspended) return 'Suspended';
  if (facts.isInvalid) return 'Invalid';
  if (facts.awaitsApproval) return 'Awaiting approval';
  const present = new Set(states);
  if (!present.isDisjointFrom(IN_PROGRESS)) return 'In progress';
  if (present.has('failed')) return 'Failed';
  if (present.has('blocked')) return 'Blocked';
  if (present.has('drifted')) return 'Drifted';
  return 'Done';
}

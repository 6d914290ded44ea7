// From the states of its servers to the one status of an instance.
import type { InstanceStatus, State } from '../model/state.ts';

/** What is known of an instance beside its servers. */
export interface InstanceFacts {
  /** No commit wants it any more, and something of it is still there. */
  readonly isTerminating: boolean;
  readonly isSuspended: boolean;
  /** Its newest version is wrong; it stays at an older one, or has none. */
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

/** Returns the first status that holds, in the order of model/state.ts. An instance without servers is done. */
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

// Builds the facts by which the deletes of a planned merge are judged, as if every server of base were made, none were
// on its way out, and nothing is approved.
import type { Safety } from '../desired/admit.ts';
import type { DeletionFacts } from '../desired/deletions.ts';
import type { Baseline } from '../desired/desired-state.ts';
import { removalsMax } from '../machine/removals.ts';
import type { DeleteBudget } from '../model/settings.ts';

/** Limits the deletes of a plan. */
export interface PlannedLimits {
  /** The budget of the settings, or the number of deletes that need no approval. */
  readonly budget: DeleteBudget | number;
  /** The largest number in a `Treeline-Approve-Deletes` trailer of the commits that the merge brings; 0 without one. */
  readonly approvedCount?: number;
  /** Keys of the units whose protection was lifted; left out: none. A merge lifts none: only a commit of the branch itself does, see docs/decisions/0012. */
  readonly unprotected?: ReadonlySet<string>;
  /** See DeletionFacts; left out: none is. */
  readonly guarded?: DeletionFacts['guarded'];
}

/** Returns the facts. */
export function safetyOfServers({ owners }: Pick<Baseline, 'owners'>, limits: PlannedLimits): Safety {
  const { budget, approvedCount = 0, unprotected = new Set(), guarded = new Map() } = limits;
  return {
    unprotected,
    deletions: {
      limit: typeof budget === 'number' ? budget : removalsMax(budget, owners.size),
      recent: 0,
      isRecent: () => false,
      underWay: new Map(),
      goesOn: () => false,
      incarnationOf: (server) => (owners.has(server) ? 1 : undefined),
      guarded,
      isApproved: () => false,
      heldBefore: new Map(),
      approvedCount,
    },
  };
}

// Reads a plan that is compared with the recorded servers of a running controller.

import type { HeldBefore } from '../../desired/deletions.ts';
import type { Problem } from '../../model/problem.ts';
import type { DeleteBudget } from '../../model/settings.ts';
import type { Plan } from '../../plan/plan.ts';
import { type Merge, planMerge } from '../../plan/plan-merge.ts';
import { safetyOfRecorded } from '../../plan/planned-safety.ts';
import { withRecorded } from '../../plan/recorded-facts.ts';
import type { LocalRepository } from '../../repository/local-repository.ts';
import type { HeldItem, RecordedState } from '../../service/answers.ts';
import { type ReadMerge, readMerge } from './read-merge.ts';

/** The recorded facts, and the limit of deletes. */
export interface RecordedOrder {
  readonly recorded: RecordedState;
  /** The problems of the newest commit, as the controller lists them. */
  readonly problems: { readonly commit: string; readonly problems: readonly Problem[] };
  readonly budget: DeleteBudget | number;
}

/** Returns the effect of merging head into the commit that the controller follows. */
export async function planOnRecorded(
  repository: LocalRepository,
  { head, node, ...order }: RecordedOrder & { readonly head: string; readonly node?: string | undefined },
): Promise<Plan> {
  const { recorded, budget } = order;
  const merge = onRecorded(await readMerge(repository, { base: recorded.commit, head, budget }), order);
  return planMerge({ ...merge, node });
}

function onRecorded(
  { approvedCount, ...merge }: ReadMerge,
  { recorded, problems: newest, budget }: RecordedOrder,
): Merge {
  const { servers, held, commit, isRecovering = false } = recorded;
  if (merge.before === undefined) return merge;
  const problemsBefore = newest.commit === commit ? newest.problems : merge.problemsBefore;
  const limits = { servers, heldBefore: heldDeletes(held), budget };
  const before = withRecorded(merge.before, servers, problemsBefore);
  return {
    ...merge,
    before,
    ...(problemsBefore === undefined ? {} : { problemsBefore }),
    recorded: servers,
    safety: {
      ...safetyOfRecorded({ ...limits, approvedCount: isRecovering ? 0 : approvedCount, isRecovering }),
    },
  };
}

function heldDeletes(held: readonly HeldItem[]): ReadonlyMap<string, HeldBefore> {
  return new Map(
    held.flatMap(({ kind, instance, digest, resources, reason }) =>
      (kind === 'deletes' || kind === 'unreadable') && instance !== null
        ? [[instance, { digest, servers: resources, reason }] as const]
        : [],
    ),
  );
}

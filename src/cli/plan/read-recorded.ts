// Reads a plan that is compared with the recorded servers of a running controller.

import { quote } from '../../base/wording.ts';
import type { HeldBefore } from '../../desired/deletions.ts';
import type { Problem } from '../../model/problem.ts';
import type { DeleteBudget } from '../../model/settings.ts';
import type { Plan } from '../../plan/plan.ts';
import { planApproval, planFailures } from '../../plan/plan-approval.ts';
import { type Merge, planMerge } from '../../plan/plan-merge.ts';
import { safetyOfRecorded } from '../../plan/planned-safety.ts';
import { withRecorded } from '../../plan/recorded-facts.ts';
import type { LocalRepository } from '../../repository/local-repository.ts';
import type { HeldItem, RecordedState } from '../../service/answers.ts';
import { CommandFailure } from '../command-failure.ts';
import { type ReadMerge, readMerge, readStep } from './read-merge.ts';

/** The recorded facts, and the limit of deletes. */
export interface RecordedOrder {
  readonly recorded: RecordedState;
  /** The problems of the newest commit, as the controller tells them. */
  readonly problems: { readonly commit: string; readonly problems: readonly Problem[] };
  readonly budget: DeleteBudget | number;
}

/** Returns the effect of merging head into the commit that the controller follows. */
export async function planOnRecorded(
  repository: LocalRepository,
  { head, ...order }: RecordedOrder & { readonly head: string },
): Promise<Plan> {
  const { recorded, budget } = order;
  return planMerge(onRecorded(await readMerge(repository, { base: recorded.commit, head, budget }), order));
}

/** Returns the effect of an approval. Throws CommandFailure where nothing is held under the digest. */
export async function planOfApproval(
  repository: LocalRepository,
  { digest, ...order }: RecordedOrder & { readonly digest: string },
): Promise<Plan> {
  const { recorded, budget } = order;
  const item = recorded.held.find((held) => held.digest === digest);
  if (item === undefined) throw new CommandFailure(unknownText(digest, recorded.held));
  const base = recorded.commit;
  const commit = commitIn(item);
  if (item.kind === 'nothing left' || item.kind === 'history') {
    const step = await readStep(repository, { base, head: commit, budget });
    return planMerge({ ...onRecorded(step, order), isAccepted: item.kind === 'nothing left' });
  }
  const merge = onRecorded(await readStep(repository, { base, head: base, budget }), order, digest);
  if (item.kind === 'failures') return planFailures(merge, { commit, failed: item.resources });
  const plan = planApproval(merge, { instance: item.instance ?? '' });
  if (plan === undefined) throw new CommandFailure(`what is held under ${digest} has changed meanwhile: ask again`);
  return plan;
}

function onRecorded(
  { approvedCount, ...merge }: ReadMerge,
  { recorded, problems: newest, budget }: RecordedOrder,
  approval?: string,
): Merge {
  const { servers, held, commit, isRecovering = false } = recorded;
  if (merge.before === undefined) return merge;
  const problemsBefore = newest.commit === commit ? newest.problems : merge.problemsBefore;
  const losses = merge.safety?.losses === undefined ? {} : { losses: merge.safety.losses };
  const limits = { servers, heldBefore: heldDeletes(held), approval, budget };
  const before = withRecorded(merge.before, servers, problemsBefore);
  return {
    ...merge,
    before,
    ...(problemsBefore === undefined ? {} : { problemsBefore }),
    recorded: servers,
    safety: {
      ...losses,
      ...safetyOfRecorded({ ...limits, approvedCount: isRecovering ? 0 : approvedCount, isRecovering }),
    },
  };
}

function heldDeletes(held: readonly HeldItem[]): ReadonlyMap<string, HeldBefore> {
  return new Map(
    held.flatMap(({ kind, instance, digest, resources, reason }) =>
      kind === 'deletes' && instance !== null ? [[instance, { digest, servers: resources, reason }] as const] : [],
    ),
  );
}

/** The digest of a held commit ends with its id. */
function commitIn({ digest }: HeldItem): string {
  return /[0-9a-f]{40,64}$/.exec(digest)?.[0] ?? '';
}

function unknownText(digest: string, held: readonly HeldItem[]): string {
  if (held.length === 0) return `nothing is held, and nothing under ${quote(digest)}`;
  return `nothing is held under ${quote(digest)}; held are ${held.map((item) => item.digest).join(', ')}`;
}

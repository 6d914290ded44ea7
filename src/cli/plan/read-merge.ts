// Reads the inputs of a plan: from a repository, the state at base and the files after the merge; from a running
// controller, its recorded servers.

import { wantsBlob } from '../../catalog/load-catalog.ts';
import { TREE_FILE } from '../../catalog/paths.ts';
import type { HeldBefore } from '../../desired/deletions.ts';
import { stateAt } from '../../follow/commit-plan.ts';
import { COMMITS_MAX } from '../../follow/first-parents.ts';
import { approvedCountOf } from '../../follow/safety.ts';
import type { Problem } from '../../model/problem.ts';
import type { DeleteBudget } from '../../model/settings.ts';
import type { Plan } from '../../plan/plan.ts';
import { type Merge, planMerge } from '../../plan/plan-merge.ts';
import { safetyOfRecorded, safetyOfServers } from '../../plan/planned-safety.ts';
import { withRecorded } from '../../plan/recorded-facts.ts';
import type { LocalRepository } from '../../repository/local-repository.ts';
import { SourceError } from '../../repository/source.ts';
import type { HeldItem, RecordedState } from '../../service/answers.ts';

/** The parts of a repository that a plan reads. */
type MergeRepository = Omit<LocalRepository, 'isShallow' | 'isAncestor' | 'lastChanges' | typeof Symbol.dispose>;

/** The revisions to plan, and the limit of deletes. */
export interface MergeOrder {
  readonly base: string;
  readonly head: string;
  readonly budget: DeleteBudget | number;
}

/** A merge, and the number of deletes that trailers of its commits approve. */
type ReadMerge = Merge & { readonly approvedCount: number };

/**
 * Resolves with the merge of head into base; without an effect if git cannot merge. Throws SourceError with advice if a
 * commit is missing.
 */
export async function readMerge(repository: MergeRepository, { base, head, budget }: MergeOrder): Promise<ReadMerge> {
  const [from, to] = [await repository.resolve(base), await repository.resolve(head)];
  const { commit, conflicts } = await repository.merge(from, to);
  const { before, problemsBefore } = await stateAt(repository, from);
  const merged = conflicts.length > 0 ? from : commit;
  const snapshot = await repository.snapshot(merged, wantsBlob(before?.catalog));
  if (before === undefined && !snapshot.files.has(TREE_FILE)) throw new SourceError(noLayoutText(repository));
  const { time } = await repository.describe(to);
  const approvedCount = approvedCountOf(await repository.commitsBetween(from, to, COMMITS_MAX + 1));
  return {
    base: from,
    head: to,
    before,
    problemsBefore,
    snapshot: { ...snapshot, commit: to, time },
    approvedCount,
    conflicts: conflicts.map((path) => needsRebase(path, base)),
    safety: before && safetyOfServers(before, { budget, approvedCount }),
  };
}

/** Returns the error for a directory without a layout, whose plan would otherwise show no effect. */
function noLayoutText({ prefix }: MergeRepository): string {
  const where = prefix === '' ? 'the root of the repository' : `"${prefix}"`;
  return `neither commit has ${TREE_FILE} in ${where}: name the directory where the layout begins`;
}

function needsRebase(file: string, base: string): Problem {
  return {
    code: 'needs_rebase',
    severity: 'error',
    file,
    line: 1,
    column: 1,
    pointer: '',
    message: `the file was changed differently here and in ${base} since both parted`,
    hint: `merge ${base} into the branch, or rebase it`,
  };
}

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
  order: RecordedOrder & { readonly head: string; readonly node?: string | undefined },
): Promise<Plan> {
  const { head, node, budget, recorded, problems: newest } = order;
  const { servers, held, commit, isRecovering = false } = recorded;
  const { approvedCount, ...merge } = await readMerge(repository, { base: commit, head, budget });
  if (merge.before === undefined) return planMerge({ ...merge, node });
  const problemsBefore = newest.commit === commit ? newest.problems : merge.problemsBefore;
  const limits = { servers, heldBefore: heldDeletes(held), budget };
  return planMerge({
    ...merge,
    node,
    before: withRecorded(merge.before, servers, problemsBefore),
    problemsBefore,
    recorded: servers,
    safety: safetyOfRecorded({ ...limits, approvedCount: isRecovering ? 0 : approvedCount, isRecovering }),
  });
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

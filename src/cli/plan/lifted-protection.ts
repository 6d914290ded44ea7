// Finds the protected instances whose protection commits of a branch lift one after the other, for a plan of all of them at once.
// A controller needs no such search: it follows each commit. Where such an instance is protected only because the commits of
// the branch join in one merge, the plan says so: each one counts where the forge fast-forwards or rebases instead.
// docs/decisions/0012 and 0034.

import type { Breathe } from '../../base/breathe.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { isProtected, isValidUnit, type Unit } from '../../desired/unit.ts';
import { COMMITS_MAX, firstParentLine } from '../../follow/first-parents.ts';
import { deriveAt } from '../../follow/read-commit.ts';
import { instanceAddress } from '../../model/address.ts';
import type { Plan } from '../../plan/plan.ts';
import type { Merge } from '../../plan/plan-merge.ts';
import type { LocalRepository } from '../../repository/local-repository.ts';
import type { Commit, Source } from '../../repository/source.ts';

/** How many of them are read to find out whether one lifts a protection; a lift before these does not count. */
const PROTECTION_COMMITS_MAX = 100;

interface Lifting {
  /** The active desired state. */
  readonly desired: DesiredState;
  /** Those that come with the newest commit, that one first. */
  readonly commits: readonly Commit[];
  /** Keys of units whose protection was lifted before. */
  readonly lifted: ReadonlySet<string>;
  readonly breathe?: Breathe;
}

/**
 * Returns the keys of protected units whose protection is lifted before the newest commit. Several commits may come at
 * once; those of the branch itself count as if they had come one by one, and what a merge brings from elsewhere does not.
 */
export async function liftedProtection(
  source: Pick<Source, 'snapshot'>,
  { desired, commits, lifted: before, breathe }: Lifting,
): Promise<ReadonlySet<string>> {
  const lifted = new Set(before);
  let earlier = desired;
  const line = firstParentLine(commits, desired.commit).slice(1, PROTECTION_COMMITS_MAX);
  for (const { oid } of line.reverse()) {
    const derivation = await deriveAt(source, oid, { baseline: desired, earlier, isAccepted: true, breathe });
    if (!derivation.isFollowed) continue;
    earlier = derivation.desired;
    for (const [key, unit] of derivation.desired.candidates) {
      if (!isValidUnit(unit) || !isWhole(unit, desired.units.get(key))) continue;
      if (isProtected(unit)) lifted.delete(key);
      else lifted.add(key);
    }
  }
  return lifted;
}

/** Returns whether a version of an instance makes every active server of it. */
function isWhole({ type, servers }: Unit, active: Unit | undefined): boolean {
  return (
    type === 'stack-instance' && active !== undefined && [...active.servers.keys()].every((name) => servers.has(name))
  );
}

const HINT =
  'a merge commit takes none of them away; a fast-forward or a rebase does, since a commit of this branch lifts the protection before';

/** Returns the plan with another hint where a protection is lifted by a commit that comes before the last one. */
export async function tellLifts(
  repository: Pick<LocalRepository, 'findAncestors' | 'commitsBetween' | 'snapshot'>,
  { base, head, before }: Pick<Merge, 'base' | 'head' | 'before'>,
  plan: Plan,
): Promise<Plan> {
  const isProtecting = plan.problems.some(({ code }) => code === 'protected_instance');
  if (before === undefined || !isProtecting) return plan;
  const commits = await repository.commitsBetween(base, head, COMMITS_MAX);
  const [parted = base] = await repository.findAncestors(base, head);
  // The commits of the branch come after the one in which both parted.
  const desired = { ...before, commit: parted };
  const lifted = await liftedProtection(repository, { desired, commits, lifted: new Set() });
  const problems = plan.problems.map((problem) => {
    const isLifted = (problem.instances ?? []).some((instance) => lifted.has(instanceAddress(instance)));
    return problem.code === 'protected_instance' && isLifted ? { ...problem, hint: HINT } : problem;
  });
  return { ...plan, problems };
}

// Tells of a protected instance where it is protected only because the commits of the branch join in one merge: each one counts
// where the forge fast-forwards or rebases instead. docs/decisions/0061.

import { COMMITS_MAX } from '../../follow/first-parents.ts';
import { instanceAddress } from '../../model/address.ts';
import type { Plan } from '../../plan/plan.ts';
import type { Merge } from '../../plan/plan-merge.ts';
import type { LocalRepository } from '../../source/local-repository.ts';
import { liftedProtection } from './lifted-protection.ts';

const HINT =
  'a merge commit takes none of them away; a fast-forward or a rebase does, since a commit of this branch lifts the protection before';

/** Returns the plan with another hint where a protection is lifted by a commit that comes before the last one. */
export async function tellLifts(
  repository: Pick<LocalRepository, 'ancestorsOf' | 'commitsBetween' | 'snapshot'>,
  { base, head, before }: Pick<Merge, 'base' | 'head' | 'before'>,
  plan: Plan,
): Promise<Plan> {
  const isProtecting = plan.problems.some(({ code }) => code === 'protected_instance');
  if (before === undefined || !isProtecting) return plan;
  const commits = await repository.commitsBetween(base, head, COMMITS_MAX);
  const [parted = base] = await repository.ancestorsOf(base, head);
  // The commits of the branch come after the one in which both parted.
  const desired = { ...before, commit: parted };
  const lifted = await liftedProtection(repository, { desired, commits, lifted: new Set() });
  const problems = plan.problems.map((problem) => {
    const isLifted = (problem.instances ?? []).some((instance) => lifted.has(instanceAddress(instance)));
    return problem.code === 'protected_instance' && isLifted ? { ...problem, hint: HINT } : problem;
  });
  return { ...plan, problems };
}

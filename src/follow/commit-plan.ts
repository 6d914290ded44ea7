// Computes the changes of a commit of the branch with the code of `treeline plan`: derives the commit and the one
// before, and compares both. Reads no rows: all servers count as created.

import { keepNewest } from '../base/lists.ts';
import { problemsOf } from '../derive.ts';
import { type DesiredState, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { isError, type Problem } from '../model/problem.ts';
import { ServiceError } from '../model/service-error.ts';
import type { DeleteBudget } from '../model/settings.ts';
import type { Plan } from '../plan/plan.ts';
import { planMerge } from '../plan/plan-merge.ts';
import { safetyOfServers } from '../plan/planned-safety.ts';
import type { Source } from '../repository/source.ts';
import type { CurrentState } from './current-state.ts';
import { COMMITS_MAX, firstParents } from './first-parents.ts';
import { SEARCHED_MAX } from './loss-policy.ts';
import { deriveAt, readCommit } from './read-commit.ts';
import { approvedCountOf } from './safety.ts';

/** The parts of a repository that a plan reads. */
type PlannedSource = Pick<Source, 'has' | 'snapshot' | 'describe' | 'commitsBetween'>;

/** The commits to compare, and the delete budget. */
interface CommitPlanOrder {
  /** Null if no commit was followed before. */
  readonly base: string | null;
  readonly head: string;
  readonly budget: DeleteBudget;
  /** A desired state to reuse; the result does not depend on it. */
  readonly earlier?: DesiredState | undefined;
}

/** Returns the effect of a commit. Throws SourceError if one of the two commits is no longer in the local copy. */
async function planCommit(source: PlannedSource, order: CommitPlanOrder): Promise<Plan> {
  const { base, head, budget, earlier } = order;
  const { before, problemsBefore } = base === null ? NOTHING : await stateAt(source, base, earlier);
  // Only files that the base does not have are read and parsed.
  const snapshot = await readCommit(source, head, { earlier: before });
  const commits = base === null ? [] : await source.commitsBetween(base, head, COMMITS_MAX + 1);
  const safety = before && safetyOfServers(before, { budget, approvedCount: approvedCountOf(commits) });
  return planMerge({
    base: base ?? '',
    head,
    before,
    problemsBefore,
    snapshot,
    safety,
    hierarchyNow: earlier?.catalog.hierarchy,
  });
}

const PLANS_MAX = 10;
const WAITING_MAX = 4;

interface PlannerParts {
  readonly source: PlannedSource;
  readonly current: Pick<CurrentState, 'get'>;
  readonly budget: DeleteBudget;
}

/**
 * Returns a function that plans one commit at a time, to limit memory. It keeps the last plans until the rules for
 * secrets change. The function throws `not_ready` if several requests wait already.
 */
export function createPlanner({ source, current, budget }: PlannerParts) {
  const kept = new Map<string, Promise<Plan>>();
  let hierarchy = current.get()?.catalog.hierarchy;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return (order: Pick<CommitPlanOrder, 'base' | 'head'>): Promise<Plan> => {
    const earlier = current.get();
    if (earlier?.catalog.hierarchy !== hierarchy) kept.clear();
    hierarchy = earlier?.catalog.hierarchy;
    const key = `${order.base} ${order.head}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    if (waiting >= WAITING_MAX)
      throw new ServiceError('not_ready', 'Other commits are still being compared: try again');
    waiting += 1;
    const plan = last.then(() => planCommit(source, { ...order, budget, earlier }));
    last = plan.catch(() => undefined).finally(() => (waiting -= 1));
    keepNewest(kept, [key, plan], PLANS_MAX);
    plan.catch(() => kept.delete(key));
    return plan;
  };
}

interface ActiveState {
  readonly before: DesiredState | undefined;
  readonly problemsBefore: readonly Problem[];
}

const NOTHING: ActiveState = { before: undefined, problemsBefore: [] };

/**
 * Returns the state that was active at a commit: invalid objects have their version from the newest earlier commit
 * without errors.
 */
export async function stateAt(source: PlannedSource, commit: string, earlier?: DesiredState): Promise<ActiveState> {
  const alone = await deriveAt(source, commit, { baseline: EMPTY_BASELINE, earlier });
  const problems = problemsOf(alone);
  if (alone.isFollowed && !problems.some(isError)) return { before: alone.desired, problemsBefore: problems };
  const right = await lastRight(source, commit);
  if (right === undefined) return { before: alone.isFollowed ? alone.desired : undefined, problemsBefore: problems };
  const upon = await deriveAt(source, commit, { baseline: right, earlier: right });
  return { before: upon.isFollowed ? upon.desired : right, problemsBefore: problemsOf(upon) };
}

/**
 * Returns the desired state of the newest earlier commit without errors; undefined if none of the last commits is one.
 */
async function lastRight(source: PlannedSource, commit: string): Promise<DesiredState | undefined> {
  let earlier: DesiredState | undefined;
  for await (const oid of firstParents(source, commit, SEARCHED_MAX + 1)) {
    if (oid === commit) continue;
    if (!(await source.has(oid))) return undefined;
    const found = await deriveAt(source, oid, { baseline: EMPTY_BASELINE, earlier });
    if (!found.isFollowed) continue;
    if (!problemsOf(found).some(isError)) return found.desired;
    earlier = found.desired;
  }
  return undefined;
}

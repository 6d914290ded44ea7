// Computes what a commit of the branch changes, with the code of `treeline plan`: derives it and the commit before it,
// and compares both. Reads no rows: servers count as made.

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

/** The commits to compare, and what limits the deletes between them. */
interface CommitPlanOrder {
  /** Null: nothing was followed before. */
  readonly base: string | null;
  readonly head: string;
  readonly budget: DeleteBudget;
  /** A desired state to reuse; the result does not depend on it. */
  readonly earlier?: DesiredState | undefined;
}

/** Returns the effect of a commit. Throws SourceError if one of the two commits is not here any more. */
async function planCommit(source: PlannedSource, order: CommitPlanOrder): Promise<Plan> {
  const { base, head, budget, earlier } = order;
  const { before, problemsBefore } = base === null ? NOTHING : await stateAt(source, base, earlier);
  // Files that one of these has are parsed already; those of the other one are read.
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
 * Returns a function that plans one commit after the other, so that the memory for one is enough. It keeps the last
 * plans, until other values are secret. Throws `not_ready` if several wait already.
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
      throw new ServiceError('not_ready', 'Other commits are still being compared: ask again');
    waiting += 1;
    const plan = last.then(() => planCommit(source, { ...order, budget, earlier }));
    last = plan.catch(() => undefined).finally(() => (waiting -= 1));
    keepNewest(kept, [key, plan], PLANS_MAX);
    plan.catch(() => kept.delete(key));
    return plan;
  };
}

interface StateInForce {
  readonly before: DesiredState | undefined;
  readonly problemsBefore: readonly Problem[];
}

const NOTHING: StateInForce = { before: undefined, problemsBefore: [] };

/**
 * Returns the state in force at a commit: of what is wrong in it, the version of the newest commit in which nothing was
 * wrong.
 */
export async function stateAt(source: PlannedSource, commit: string, earlier?: DesiredState): Promise<StateInForce> {
  const alone = await deriveAt(source, commit, { baseline: EMPTY_BASELINE, earlier });
  const problems = problemsOf(alone);
  if (alone.isFollowed && !problems.some(isError)) return { before: alone.desired, problemsBefore: problems };
  const right = await lastRight(source, commit);
  if (right === undefined) return { before: alone.isFollowed ? alone.desired : undefined, problemsBefore: problems };
  const upon = await deriveAt(source, commit, { baseline: right, earlier: right });
  return { before: upon.isFollowed ? upon.desired : right, problemsBefore: problemsOf(upon) };
}

/**
 * Returns the desired state of the newest commit before one in which nothing is wrong; undefined if there is none that
 * is near.
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

// Tells the state after a merge: at once, and once a person has approved what waits.

import { finish } from '../base/steps.ts';
import { type Derivation, judgeAgain } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import type { HeldDeletes } from '../desired/deletions.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import { problemsAndRemarks } from '../desired/remarks.ts';
import { compareNames } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import type { PlannedHold, ServerChange } from './plan.ts';

type Followed = Extract<Derivation, { isFollowed: true }>;
type NotFollowed = Extract<Derivation, { isFollowed: false }>;

/** The state after a merge. */
export interface MergeOutcome {
  /** The state that becomes active at once. */
  readonly desired: DesiredState;
  /** The units that are active once everything is approved. */
  readonly units: DesiredState['units'];
  /** Names of the invalid instances, now and then, without those that only wait. */
  readonly invalid: ReadonlySet<string>;
  /** Problems and remarks, as they are once everything is approved: that one waits is no mistake. */
  readonly problems: readonly Problem[];
  /** Names of instances that wait for held ones, sorted. */
  readonly waiting: readonly string[];
  /** Null where nothing waits. */
  readonly held: PlannedHold | null;
}

/** Returns the outcome of a commit that is followed. */
export function outcomeOf({ desired }: Followed, safety: Safety | undefined): MergeOutcome {
  const { units } = desired;
  if (desired.held.size === 0 || safety === undefined) {
    return { desired, units, invalid: desired.invalid, problems: problemsAndRemarks(desired), waiting: [], held: null };
  }
  // What a person approves happens upon what was active by then, as the controller judges the commit again.
  const deletions = { ...safety.deletions, isApproved: () => true };
  const approved = finish(judgeAgain(desired, { ...safety, deletions }));
  const waits = (name: string): boolean => !desired.held.has(name) && !approved.invalid.has(name);
  const waiting = [...desired.invalid].filter(waits).sort(compareNames);
  const held = { ...holdOf(desired.held, safety), waiting };
  const invalid = desired.invalid.difference(new Set(waiting)).union(approved.invalid);
  return { desired, units: approved.units, invalid, problems: problemsAndRemarks(approved), waiting, held };
}

function holdOf(held: DesiredState['held'], { deletions }: Safety): Omit<PlannedHold, 'waiting'> {
  const items = [...held.values()];
  const isBudget = (item: HeldDeletes): boolean => item.isHandOver !== true;
  const first = items.find(isBudget) ?? items[0];
  const kind = items.some(isBudget) ? 'budget' : 'hand over';
  return {
    kind,
    limit: kind === 'budget' ? deletions.limit : null,
    deletes: items.reduce((sum, { removals }) => sum + removals.length, 0),
    instances: [...held.keys()].sort(compareNames),
    reason: first?.reason ?? '',
  };
}

/** Returns the hold of a commit that leaves nothing; null for one that is not followed for another reason. */
export function holdOfCommit({ nothingLeft }: NotFollowed, changes: readonly ServerChange[]): PlannedHold | null {
  if (nothingLeft === undefined) return null;
  const deletes = changes.filter(({ action }) => action === 'delete');
  const instances = [...new Set(changes.map(({ instance }) => instance))].sort(compareNames);
  const { message: reason } = nothingLeft;
  return { kind: 'nothing left', limit: null, deletes: deletes.length, instances, waiting: [], reason };
}

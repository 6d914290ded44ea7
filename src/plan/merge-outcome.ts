// Tells the state after a merge: at once, and once a person has approved what waits.
import type { Derivation } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import type { HeldDeletes } from '../desired/deletions.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import { splitAddress } from '../model/address.ts';
import { compareNames } from '../model/names.ts';
import type { PlannedHold, ServerChange } from './plan.ts';

type Followed = Extract<Derivation, { isFollowed: true }>;
type NotFollowed = Extract<Derivation, { isFollowed: false }>;

/** The state after a merge. */
export interface MergeOutcome {
  /** The state that becomes active at once. */
  readonly desired: DesiredState;
  /** Active units, with held instances and those that wait for them as they are once approved. */
  readonly units: DesiredState['units'];
  /** Names of instances that wait for held ones, sorted. */
  readonly waiting: readonly string[];
  /** Null where nothing waits. */
  readonly held: PlannedHold | null;
}

/** Returns the outcome of a commit that is followed. */
export function outcomeOf({ desired, judge }: Followed, safety: Safety | undefined): MergeOutcome {
  if (desired.held.size === 0 || safety === undefined) {
    return { desired, units: desired.units, waiting: [], held: null };
  }
  const approved = judge({ ...safety, deletions: { ...safety.deletions, isApproved: () => true } });
  const waiting = [...desired.invalid].filter((name) => !desired.held.has(name) && !approved.invalid.has(name));
  const units = unitsOnceApproved({ desired, approved, waits: new Set([...desired.held.keys(), ...waiting]) });
  const held = { ...holdOf(desired.held, safety), waiting: waiting.sort(compareNames) };
  return { desired, units, waiting: held.waiting, held };
}

interface Approved {
  readonly desired: DesiredState;
  readonly approved: DesiredState;
  /** Names of the instances that change only then. */
  readonly waits: ReadonlySet<string>;
}

function unitsOnceApproved({ desired, approved, waits }: Approved): DesiredState['units'] {
  const units = new Map(desired.units);
  for (const key of new Set([...desired.units.keys(), ...approved.units.keys()])) {
    const [type, name] = splitAddress(key);
    if (type !== 'stack-instance' || !waits.has(name)) continue;
    const unit = approved.units.get(key);
    if (unit === undefined) units.delete(key);
    else units.set(key, unit);
  }
  return units;
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

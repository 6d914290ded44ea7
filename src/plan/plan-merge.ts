// Plans a merge: derives the merged files on top of the state at base, like the controller follows a commit, and
// compares both states. Pure: the caller reads the commits. docs/decisions/0033.

import { type Derivation, derive, judgeAgain, problemsOf } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import type { HeldDeletes } from '../desired/deletions.ts';
import { type DesiredState, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { noSuchNode } from '../desired/node-records.ts';
import { problemsAndRemarks } from '../desired/remarks.ts';
import { compileSecrets } from '../hiera/secrets.ts';
import { type Entry, isValidEntry } from '../model/entry.ts';
import type { JsonMap } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { Hierarchy } from '../model/objects.ts';
import { isError, type Problem, sortProblems } from '../model/problem.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { differences, type IsSecret } from './changed-properties.ts';
import { changedNodes, changedServers, changedUnits } from './changed-servers.ts';
import { recordChanges } from './configuration-changes.ts';
import type { AccessChange, Plan, PlannedHold, ServerChange } from './plan.ts';
import { recordedChanges } from './recorded-changes.ts';
import { type RecordedFacts, recordedOutputs } from './recorded-facts.ts';
import { approvalChanges, safetyChanges } from './safety-changes.ts';
import { compareServers } from './server-changes.ts';

/** The merge to plan. */
export interface Merge {
  /** Full commit ids. */
  readonly base: string;
  readonly head: string;
  /** The state at base; undefined if no commit of base can be followed. */
  readonly before: DesiredState | undefined;
  /** The files after the merge, with the content of all files that `before` does not have. */
  readonly snapshot: Snapshot;
  /** The facts that limit deletes; see planned-safety.ts. Omitted if there is no state at base: nothing is judged. */
  readonly safety?: Safety | undefined;
  /** The problems of base's newest files; default: those of `before`. */
  readonly problemsBefore?: readonly Problem[] | undefined;
  /** Files that both sides changed, as problems. */
  readonly conflicts?: readonly Problem[];
  /**
   * The recorded servers of a running controller, for the comparison instead of `before`, which is built from them.
   */
  readonly recorded?: readonly RecordedFacts[] | undefined;
  /** The current hierarchy, if the merge is in the past: it hides values that became secret since. */
  readonly hierarchyNow?: Entry<Hierarchy> | undefined;
  /** Lists only the changes of this server and its record. The whole merge is judged nevertheless. */
  readonly node?: string | undefined;
}

/**
 * Returns the effect of a merge commit on the branch of base. Throws ServiceError `not_found` if `node` is on neither
 * side.
 */
export function planMerge(merge: Merge): Plan {
  const { base, head, before, snapshot, safety, conflicts = [] } = merge;
  const from = { baseline: before ?? EMPTY_BASELINE, earlier: before, safety };
  const merged = derive(snapshot, from);
  // A commit that leaves nothing is held: the plan shows its effect after an operator accepts it.
  const accepted = isHeld(merged) ? derive(snapshot, { ...from, isAccepted: true }) : merged;
  const outcome = accepted.isFollowed ? describeOutcome(accepted, safety) : undefined;
  if (merge.node !== undefined && outcome !== undefined) requireNode(merge.node, merge, outcome);
  const effects = outcome === undefined ? NO_EFFECTS : compareEffects(merge, outcome);
  const shown = merge.node === undefined ? effects : effectsOn(merge.node, effects);
  const known = merge.problemsBefore ?? (before === undefined ? [] : problemsAndRemarks(before));
  const problems = sortProblems([...conflicts, ...problemsAfter(merged, outcome)]);
  const { added, known: knownProblems } = newProblems(known, problems);
  return {
    base,
    head,
    ...shown,
    invalid: outcome === undefined ? [] : newlyInvalid(before, outcome),
    problems: added,
    knownProblems,
    held: merged.isFollowed ? (outcome?.held ?? null) : holdOfCommit(merged, effects.changes),
  };
}

function isHeld(derivation: Derivation): boolean {
  return !derivation.isFollowed && derivation.nothingLeft !== undefined;
}

/** Includes, for a held commit, the mistakes that affect instances after it is accepted. */
function problemsAfter(merged: Derivation, outcome: MergeOutcome | undefined): readonly Problem[] {
  if (outcome === undefined) return problemsOf(merged);
  if (merged.isFollowed) return outcome.problems;
  const stopping = outcome.problems.filter(isError);
  return [...stopping, ...newProblems(stopping, problemsOf(merged)).added];
}

type Effects = Pick<Plan, 'access' | 'safety' | 'changes' | 'retained' | 'nodes' | 'configuration'>;

const NO_EFFECTS: Effects = {
  access: [],
  safety: [],
  changes: [],
  retained: [],
  nodes: [],
  configuration: [],
};

function compareEffects(
  { before, recorded, safety, hierarchyNow, node }: Merge,
  { desired, units }: MergeOutcome,
): Effects {
  const base = before ?? EMPTY_BASELINE;
  const changed = changedUnits(base.units, units);
  const isSecret = secretKeys(before?.catalog.hierarchy, desired.catalog.hierarchy, hierarchyNow);
  const writtenBefore = before?.candidates ?? new Map();
  const { losses } = desired;
  const compared = { before: base.units, after: units, writtenBefore, losses, isSecret };
  const ofMerge = compareServers(changedServers(changed), compared);
  const { changes, retained } =
    recorded === undefined ? ofMerge : recordedChanges({ recorded, after: units, merge: ofMerge, isSecret });
  const nodes = changedNodes(changed).filter(({ name }) => node === undefined || name === node);
  return {
    access: accessChanges(base.clients, desired.clients),
    safety: [
      ...(safety === undefined ? [] : approvalChanges(safety.deletions)),
      ...safetyChanges(changed, before?.catalog, desired.catalog),
    ],
    changes,
    retained,
    ...recordChanges(nodes, { isSecret, outputs: recordedOutputs(recorded) }),
  };
}

function requireNode(node: string, { before, recorded = [] }: Merge, { desired, units }: MergeOutcome): void {
  const versions = [before?.units, before?.candidates, units, desired.candidates];
  const made = versions.flatMap((each) => [...(each?.values() ?? [])].flatMap(({ nodes }) => [...nodes.keys()]));
  const names = new Set([...made, ...recorded.map(({ name }) => name)]);
  if (!names.has(node)) throw new ServiceError('not_found', noSuchNode(node, names));
}

function effectsOn(node: string, effects: Effects): Effects {
  const isOf = ({ resource }: { readonly resource: string }): boolean => resource === node;
  return { ...effects, changes: effects.changes.filter(isOf), retained: effects.retained.filter(isOf) };
}

/** A key is secret if it is secret on either side, because the merge may remove the rule. */
function secretKeys(...hierarchies: readonly (Entry<Hierarchy> | undefined)[]): IsSecret {
  const rules = hierarchies.flatMap((hierarchy) =>
    hierarchy !== undefined && isValidEntry(hierarchy) ? [compileSecrets(hierarchy.object)] : [],
  );
  return (key) => rules.some(({ isSecret }) => isSecret(key));
}

/** Excludes held instances and those that wait for them: they wait for an approval. */
function newlyInvalid(before: DesiredState | undefined, { invalid }: MergeOutcome): readonly string[] {
  return [...invalid.difference(before?.invalid ?? NO_INSTANCES)].sort(compareNames);
}

const NO_INSTANCES: ReadonlySet<string> = new Set();

type Followed = Extract<Derivation, { isFollowed: true }>;
type NotFollowed = Extract<Derivation, { isFollowed: false }>;

/** The state after a merge. */
interface MergeOutcome {
  /** The state that becomes active immediately. */
  readonly desired: DesiredState;
  /** The units that are active after all approvals. */
  readonly units: DesiredState['units'];
  /** Names of the instances that are invalid immediately or after all approvals, without those that only wait. */
  readonly invalid: ReadonlySet<string>;
  /** Problems and remarks after all approvals, since a wait is not a mistake. */
  readonly problems: readonly Problem[];
  /** Names of instances that wait for held ones, sorted. */
  readonly waiting: readonly string[];
  /** Null if nothing waits. */
  readonly held: PlannedHold | null;
}

/** Returns the outcome of a commit that is followed. */
function describeOutcome({ desired }: Followed, safety: Safety | undefined): MergeOutcome {
  const { units } = desired;
  if (desired.held.size === 0 || safety === undefined) {
    return { desired, units, invalid: desired.invalid, problems: problemsAndRemarks(desired), waiting: [], held: null };
  }
  // After an approval, the controller judges the commit again on top of the active state.
  const deletions = { ...safety.deletions, isApproved: () => true };
  const approved = judgeAgain(desired, { ...safety, deletions });
  const waits = (name: string): boolean => !desired.held.has(name) && !approved.invalid.has(name);
  const waiting = [...desired.invalid].filter(waits).sort(compareNames);
  const held = { ...planHold(desired.held, safety), waiting };
  const invalid = desired.invalid.difference(new Set(waiting)).union(approved.invalid);
  return { desired, units: approved.units, invalid, problems: problemsAndRemarks(approved), waiting, held };
}

function planHold(held: DesiredState['held'], { deletions }: Safety): Omit<PlannedHold, 'waiting'> {
  const items = [...held.values()];
  const isBudget = (item: HeldDeletes): boolean => item.isHandOver !== true;
  const first = items.find(isBudget) ?? items[0];
  const kind = items.some(isBudget) ? 'budget' : 'unreadable';
  return {
    kind,
    limit: kind === 'budget' ? deletions.limit : null,
    deletes: items.reduce((sum, { removals }) => sum + removals.length, 0),
    instances: [...held.keys()].sort(compareNames),
    reason: first?.reason ?? '',
  };
}

/** Returns the hold of a commit that leaves nothing; null if the commit is not followed for another reason. */
function holdOfCommit({ nothingLeft }: NotFollowed, changes: readonly ServerChange[]): PlannedHold | null {
  if (nothingLeft === undefined) return null;
  const deletes = changes.filter(({ action }) => action === 'delete');
  const instances = [...new Set(changes.map(({ instance }) => instance))].sort(compareNames);
  const { message: reason } = nothingLeft;
  return { kind: 'nothing left', limit: null, deletes: deletes.length, instances, waiting: [], reason };
}

type Clients = DesiredState['clients'];

/** Returns the clients that are added, removed or changed, by serial. */
function accessChanges(before: Clients, after: Clients): readonly AccessChange[] {
  const serials = [...new Set([...before.keys(), ...after.keys()])].sort(compareNames);
  return serials.flatMap((serial) => {
    const [old, now] = [before, after].map((clients) => clients.get(serial)?.entry.object ?? undefined);
    const known = now ?? old;
    const changed = differences({ ...old } as JsonMap, { ...now } as JsonMap).map(({ key }) => key);
    if (known === undefined || changed.length === 0) return [];
    const action = old === undefined ? 'add' : now === undefined ? 'remove' : 'change';
    const role = { from: old?.role ?? null, to: now?.role ?? null };
    return [{ action, serial, description: known.description, role, fields: action === 'change' ? changed : [] }];
  });
}

/** The problems after a merge. */
interface SortedProblems {
  /** Problems that base does not have, or that affect more instances than at base. */
  readonly added: readonly Problem[];
  /** The number of other problems. */
  readonly known: number;
}

/** Returns the new problems. Ignores lines, because a problem moves when the file grows above it. */
function newProblems(before: readonly Problem[], after: readonly Problem[]): SortedProblems {
  const known = new Map<string, Set<string>>();
  for (const problem of before) {
    const instances = known.get(identityOf(problem)) ?? new Set();
    for (const instance of problem.instances ?? []) instances.add(instance);
    known.set(identityOf(problem), instances);
  }
  const added = after.filter((problem) => {
    const instances = known.get(identityOf(problem));
    if (instances === undefined) return true;
    return isError(problem) && (problem.instances ?? []).some((instance) => !instances.has(instance));
  });
  return { added, known: after.length - added.length };
}

function identityOf({ code, severity, file, pointer, message }: Problem): string {
  return JSON.stringify([code, severity, file, pointer, message]);
}

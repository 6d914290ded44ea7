// Plans a merge: derives the merged files upon the state that is in force at base, as the controller follows a commit,
// and compares both. Pure: the caller reads the commits. docs/decisions/0034.
import { type Before, type Derivation, derive, problemsOf } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import { type DesiredState, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { problemsAndRemarks } from '../desired/remarks.ts';
import { secretsOf } from '../hiera/secrets.ts';
import { type Entry, isValidEntry } from '../model/entry.ts';
import { compareNames } from '../model/names.ts';
import type { Hierarchy } from '../model/objects.ts';
import { isError, type Problem, sortProblems } from '../model/problem.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { accessChanges } from './access-changes.ts';
import type { IsSecret } from './changed-properties.ts';
import { changedNodes, changedServers, changedUnits } from './changed-servers.ts';
import { recordChanges } from './configuration-changes.ts';
import { findRenames } from './find-renames.ts';
import { holdOfCommit, type MergeOutcome, outcomeOf } from './merge-outcome.ts';
import { newProblems } from './new-problems.ts';
import type { Plan } from './plan.ts';
import { planDigest } from './plan-digest.ts';
import { recordedChanges } from './recorded-changes.ts';
import type { RecordedFacts } from './recorded-facts.ts';
import { approvalChanges, safetyChanges } from './safety-changes.ts';
import { serverChangesOf } from './server-changes.ts';

/** The merge to plan. */
export interface Merge {
  /** Full commit ids. */
  readonly base: string;
  readonly head: string;
  /** The state in force at base; undefined: none, as no commit of it can be followed. */
  readonly before: DesiredState | undefined;
  /** The files after the merge, with the content of all that `before` does not have. */
  readonly snapshot: Snapshot;
  /** The facts that limit deletes; see safety-of-servers.ts. Left out where nothing is in force: nothing is judged. */
  readonly safety?: Safety | undefined;
  /** The problems of base's newest files; left out: those of `before`. */
  readonly problemsBefore?: readonly Problem[];
  /** Files that both sides changed, as problems. */
  readonly conflicts?: readonly Problem[];
  readonly parsedFiles?: Before['parsedFiles'];
  /** The recorded servers of a running controller, to be compared with in place of `before`, which is built from them. */
  readonly recorded?: readonly RecordedFacts[] | undefined;
  /** Paths of new files in which instances that are gone appear again; see reappearing.ts. */
  readonly reappearing?: Before['reappearing'];
  /** A person accepted that the commit leaves nothing. */
  readonly isAccepted?: boolean;
}

/** Returns the effect of a merge commit on the branch of base. */
export function planMerge(merge: Merge): Plan {
  const { base, head, before, snapshot, safety, parsedFiles, reappearing, isAccepted = false, conflicts = [] } = merge;
  const from = { baseline: before ?? EMPTY_BASELINE, earlier: before, parsedFiles, safety, isAccepted, reappearing };
  const merged = derive(snapshot, from);
  // A commit that leaves nothing is held: the plan shows what it does once a person accepts it.
  const accepted = isHeld(merged) ? derive(snapshot, { ...from, isAccepted: true }) : merged;
  const outcome = accepted.isFollowed ? outcomeOf(accepted, safety) : undefined;
  const effects = outcome === undefined ? NO_EFFECTS : effectsOf(merge, outcome);
  const known = merge.problemsBefore ?? (before === undefined ? [] : problemsAndRemarks(before));
  const problems = sortProblems([...conflicts, ...problemsAfter(merged, outcome)]);
  const { added, known: knownProblems } = newProblems(known, problems);
  return {
    ...{ base, head, digest: planDigest(effects), ...effects },
    invalid: outcome === undefined ? [] : newlyInvalid(before, outcome),
    ...{ problems: added, knownProblems },
    held: merged.isFollowed ? (outcome?.held ?? null) : holdOfCommit(merged, effects.changes),
  };
}

function isHeld(derivation: Derivation): boolean {
  return !derivation.isFollowed && derivation.nothingLeft !== undefined;
}

/** Of a commit that is held whole, also the mistakes that stop instances once it is accepted. */
function problemsAfter(merged: Derivation, outcome: MergeOutcome | undefined): readonly Problem[] {
  if (outcome === undefined) return problemsOf(merged);
  if (merged.isFollowed) return outcome.problems;
  const stopping = outcome.problems.filter(isError);
  return [...stopping, ...newProblems(stopping, problemsOf(merged)).added];
}

type Effects = Pick<Plan, 'access' | 'safety' | 'changes' | 'retained' | 'nodes' | 'configuration' | 'renames'>;

const NO_EFFECTS: Effects = {
  access: [],
  safety: [],
  changes: [],
  retained: [],
  nodes: [],
  configuration: [],
  renames: [],
};

function effectsOf({ before, recorded, safety }: Merge, { desired, units }: MergeOutcome): Effects {
  const base = before ?? EMPTY_BASELINE;
  const changed = changedUnits(base.units, units);
  const isSecret = secretKeys(before?.catalog.hierarchy, desired.catalog.hierarchy);
  const writtenBefore = before?.candidates ?? new Map();
  const compared = { before: base.units, after: units, writtenBefore, isSecret };
  const ofMerge = serverChangesOf(changedServers(changed), compared);
  const { changes, retained } =
    recorded === undefined ? ofMerge : recordedChanges({ recorded, after: units, merge: ofMerge, isSecret });
  return {
    access: accessChanges(base.clients, desired.clients),
    safety: [
      ...(safety === undefined ? [] : approvalChanges(safety.deletions)),
      ...safetyChanges(changed, before?.catalog, desired.catalog),
    ],
    ...{ changes, retained },
    ...recordChanges(changedNodes(changed), isSecret),
    renames: findRenames(changes, changed),
  };
}

/** A key that is secret on either side is: a merge may be about to take the rule away. */
function secretKeys(...hierarchies: readonly (Entry<Hierarchy> | undefined)[]): IsSecret {
  const rules = hierarchies.flatMap((hierarchy) =>
    hierarchy !== undefined && isValidEntry(hierarchy) ? [secretsOf(hierarchy.object)] : [],
  );
  return (key) => rules.some(({ isSecret }) => isSecret(key));
}

/** Held instances wait for a person, and those that wait for them are as right as they were. */
function newlyInvalid(before: DesiredState | undefined, { invalid }: MergeOutcome): readonly string[] {
  return [...invalid.difference(before?.invalid ?? NO_INSTANCES)].sort(compareNames);
}

const NO_INSTANCES: ReadonlySet<string> = new Set();

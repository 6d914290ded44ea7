// The pure pipeline from a commit to the desired state. Reconciling, the service and the command line all use it.

import type { Breathe } from './base/breathe.ts';
import { loadCatalog, type ParsedFiles, parseFiles } from './catalog/load-catalog.ts';
import { withUnreadable } from './catalog/unreadable.ts';
import { knownObjects, nothingLeft, selectActiveClients, selectActiveObjects } from './desired/active-versions.ts';
import {
  type AdmittedInstances,
  admitAsRecorded,
  admitInstances,
  type RecordedJudgement,
  type Safety,
} from './desired/admit.ts';
import { buildClientcerts, type Candidates, checkTemplates, InstanceBuilder } from './desired/candidates.ts';
import { type Baseline, type DesiredState, EMPTY_BASELINE, type LossPolicies } from './desired/desired-state.ts';
import { withHints } from './desired/hints.ts';
import { policiesOf, searchesFor } from './desired/loss-policy.ts';
import { withoutPlainSecrets } from './desired/plain-secrets.ts';
import { problemsAndRemarks } from './desired/remarks.ts';
import { newReceivers, receiversIn } from './desired/undetermined.ts';
import { isValidUnit, type Unit } from './desired/unit.ts';
import { instanceAddress, nameAt } from './model/address.ts';
import { type ProblemText, problemAt } from './model/entry.ts';
import { type Problem, sortProblems } from './model/problem.ts';
import type { Snapshot } from './model/snapshot.ts';

/** A commit that is followed, or the reason for which it is not; then the desired state is unchanged. */
export type Derivation = FollowedDerivation | RefusedDerivation;

/** A commit that is followed. */
export interface FollowedDerivation {
  readonly isFollowed: true;
  readonly desired: DesiredState;
  /** What {@link judge} needs: it reads no files again. */
  readonly proposed: FollowedProposal;
  readonly before: Before;
}

/** A commit that is not followed. */
export interface RefusedDerivation {
  readonly isFollowed: false;
  /** How many files of the layout it has; 0 where they are not read. */
  readonly filesCount: number;
  readonly problems: readonly Problem[];
  /** The problem for which the commit is held: it leaves nothing, and an operator may accept it. Undefined otherwise. */
  readonly nothingLeft: Problem | undefined;
  /** The first problem for which it is not followed; the others may concern single objects only. */
  readonly cause: Problem;
}

/**
 * Returns all problems of a commit, sorted; of one that is followed, also the warnings about the repository as a whole.
 */
export function problemsOf(derivation: Derivation): readonly Problem[] {
  return derivation.isFollowed ? problemsAndRemarks(derivation.desired) : derivation.problems;
}

/** The parts of an earlier desired state, or of a proposal, that spare work where the files are the same. */
export type Reusable = Pick<DesiredState, 'catalog' | 'templateProblems' | 'candidates'>;

/** The instances of a commit as it defines them, before any is admitted; or the reason for which it is not followed. */
export type ProposedCommit = FollowedProposal | RefusedDerivation;

/** The instances of a commit that is followed, as it defines them. */
export interface FollowedProposal extends Reusable {
  readonly isFollowed: true;
  readonly stacks: Candidates;
  readonly blobsRead: number;
}

/** The inputs of `derive` besides the snapshot. */
export interface Before {
  /** The active state. */
  readonly baseline: Baseline;
  /** A desired state to reuse; the result does not depend on it. */
  readonly earlier?: Reusable | undefined;
  /** Builds only these instances, by address. Omitted: all. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Files of the snapshot that are parsed already; the result does not depend on them. */
  readonly parsedFiles?: ParsedFiles | undefined;
  /** The facts that limit which deletes may happen; omitted: all may. */
  readonly safety?: Safety | undefined;
  /** An operator accepted a commit that leaves nothing. */
  readonly isAccepted?: boolean;
  /**
   * The commit was activated before, so that nothing in it is new, and nothing is judged again; `baseline` is what the
   * rows say of it.
   */
  readonly recorded?: RecordedJudgement | undefined;
}

/**
 * Returns the desired state after a commit: each unit at its newest valid and admitted version, each object at its last
 * valid one. Mistakes of the user are problems, never exceptions. docs/concepts.md, wrong commits.
 */
export function derive(snapshot: Snapshot, before: Before = { baseline: EMPTY_BASELINE }): Derivation {
  const begun = beginProposal(snapshot, before);
  if ('isFollowed' in begun) return begun;
  for (const named of begun.catalog.instances) begun.stacks.add(named);
  const proposed = endProposal(begun, snapshot);
  return { isFollowed: true, desired: buildDesiredState(admit(proposed, before)), proposed, before };
}

/** Does what {@link derive} does, and lets other work run between two files or instances. */
export async function deriveInTurns(snapshot: Snapshot, before: Before, breathe: Breathe): Promise<Derivation> {
  const proposed = await proposeInTurns(snapshot, before, breathe);
  if (!proposed.isFollowed) return proposed;
  return { isFollowed: true, desired: await judgeInTurns(proposed, before, breathe), proposed, before };
}

/** Returns what a commit proposes, the first half of {@link deriveInTurns}. */
export async function proposeInTurns(snapshot: Snapshot, before: Before, breathe: Breathe): Promise<ProposedCommit> {
  const parsedFiles = await parseFiles(snapshot, before.earlier?.catalog, { ...before, breathe });
  const begun = beginProposal(snapshot, { ...before, parsedFiles });
  if ('isFollowed' in begun) return begun;
  for (const named of begun.catalog.instances) {
    if (before.only !== undefined && !before.only.has(instanceAddress(named[0]))) continue;
    begun.stacks.add(named);
    await breathe();
  }
  return endProposal(begun, snapshot);
}

/** A commit that may be followed, before its instances are built. */
interface BegunProposal extends Pick<DesiredState, 'catalog' | 'templateProblems'> {
  readonly stacks: InstanceBuilder;
}

function beginProposal(snapshot: Snapshot, before: Before): BegunProposal | RefusedDerivation {
  const { baseline, earlier, parsedFiles, isAccepted = false } = before;
  const read = loadCatalog(snapshot, earlier?.catalog, parsedFiles);
  const catalog = withoutPlainSecrets(withUnreadable(read, knownObjects(baseline)));
  // Without a tree, an approval would not help.
  const left = isAccepted || catalog.fatal.length > 0 ? undefined : nothingLeft(catalog, baseline);
  const refused = [...(left === undefined ? [] : [left]), ...catalog.fatal];
  const [cause] = refused;
  if (cause !== undefined) {
    const problems = sortProblems([...catalog.problems, ...refused]);
    return { isFollowed: false, filesCount: catalog.files.size, problems, nothingLeft: left, cause };
  }
  const templateProblems = checkTemplates(catalog, earlier);
  return { catalog, templateProblems, stacks: new InstanceBuilder(catalog, templateProblems, earlier) };
}

function endProposal({ catalog, templateProblems, stacks }: BegunProposal, { blobs }: Snapshot): FollowedProposal {
  return { isFollowed: true, catalog, templateProblems, candidates: stacks.units, stacks, blobsRead: blobs.size };
}

/** Returns the desired state of a proposal as other facts judge it, without reading files again. */
export function judge({ proposed, before }: FollowedDerivation, safety: Safety): DesiredState {
  return buildDesiredState(admit(proposed, { ...before, safety }));
}

/** Returns the desired state of a proposal: the second half of {@link deriveInTurns}. */
export async function judgeInTurns(
  proposed: FollowedProposal,
  before: Before,
  breathe: Breathe,
): Promise<DesiredState> {
  await breathe();
  const admitted = admit(proposed, before);
  await breathe();
  return buildDesiredState(admitted);
}

function admit(proposed: FollowedProposal, before: Before): Admitted {
  const { baseline, earlier, safety, recorded } = before;
  const { candidates } = proposed;
  const losses = recorded?.losses ?? safety?.losses ?? lossesUpon(proposed, before);
  const proposal = { candidates, receiversOf: newReceivers(proposed, baseline) };
  const instances =
    recorded === undefined
      ? admitInstances(proposal, baseline, safety && { ...safety, losses })
      : admitAsRecorded(proposal, baseline, recorded);
  return { ...proposed, baseline, earlier, losses, instances };
}

/** Returns the policies for a commit that comes right after the active state. */
function lossesUpon({ candidates, catalog }: Reusable, { baseline, earlier }: Before): LossPolicies {
  const followed = isSameState(baseline, earlier) ? baseline : undefined;
  if (followed?.commit === catalog.commit) return followed.losses;
  return policiesOf(searchesFor(candidates, baseline), baseline, followed);
}

/** Returns true if the baseline is the whole desired state that may be reused. */
function isSameState(baseline: Baseline, earlier: object | undefined): baseline is DesiredState {
  return baseline === earlier;
}

/**
 * Returns the desired state of the same commit as other facts judge it, such as an approval that is not given yet. What
 * is active now is the baseline, as in a review of what is held. Reads no files.
 */
export function judgeAgain(desired: DesiredState, facts: Safety): DesiredState {
  const { catalog, templateProblems, losses } = desired;
  const safety = { ...facts, losses };
  const units = new Map([...desired.candidates].filter(([, { type }]) => type === 'stack-instance'));
  const stacks = { units, built: 0, recordsMerged: 0 };
  const proposal = { candidates: units, receiversOf: newReceivers({ candidates: units, catalog }, desired) };
  const instances = admitInstances(proposal, desired, safety);
  const proposed = { catalog, templateProblems, losses, stacks, blobsRead: 0 };
  return buildDesiredState({ ...proposed, baseline: desired, earlier: desired, instances });
}

/** A proposal, and the versions of it that become active. */
interface Admitted extends Pick<DesiredState, 'catalog' | 'templateProblems'> {
  readonly baseline: Baseline;
  readonly earlier: Reusable | undefined;
  readonly losses: LossPolicies;
  readonly stacks: Candidates;
  readonly blobsRead: number;
  readonly instances: AdmittedInstances;
}

/** Returns the desired state for the admitted versions. */
function buildDesiredState(admitted: Admitted): DesiredState {
  const { catalog, baseline, earlier, losses, stacks, templateProblems, blobsRead, instances } = admitted;
  const clientcerts = buildClientcerts(catalog, instances.owners, earlier);
  const candidates = new Map([...stacks.units, ...clientcerts.units]);
  const registry = selectActiveClients(catalog, baseline.clients);
  const units = new Map([...instances.units, ...validOrBaseline(clientcerts.units, baseline)]);
  const unitProblems = [...candidates.values()].flatMap((unit) => unit.problems);
  const problems = sortProblems([
    ...catalog.problems,
    ...[...templateProblems.values()].flat(),
    ...withHints(unitProblems, catalog),
    ...instances.problems,
    ...goneProblems(admitted),
    ...registry.problems,
  ]);
  return {
    commit: catalog.commit,
    time: catalog.time,
    catalog,
    candidates,
    templateProblems,
    units,
    owners: instances.owners,
    objects: selectActiveObjects(catalog, templateProblems, baseline.objects),
    clients: registry.clients,
    hasHierarchy: catalog.hierarchy.oid !== '',
    receivers: receiversIn({ candidates: stacks.units, catalog }),
    receiversOfPinned: receiversOfPinned(instances, stacks.units, baseline),
    places: catalog.places,
    invalid: new Set([...instances.refused].map(nameAt)),
    held: instances.held,
    losses,
    awaited: instances.awaited,
    approved: instances.approved,
    spent: instances.spent,
    unused: instances.unused,
    problems,
    counts: {
      blobsRead,
      filesParsed: catalog.parsed,
      instancesExpanded: stacks.built,
      recordsMerged: stacks.recordsMerged + clientcerts.recordsMerged,
    },
  };
}

function receiversOfPinned(
  { units }: AdmittedInstances,
  newest: Candidates['units'],
  { receivers, receiversOfPinned }: Baseline,
): DesiredState['receiversOfPinned'] {
  const pinned = [...units.keys()].filter((key) => units.get(key) !== newest.get(key));
  return new Map(pinned.map((key) => [key, receiversOfPinned.get(key) ?? receivers]));
}

/** Yields an error for each instance that is held because something that is not read may be meant in its place. */
function* goneProblems({ stacks, baseline, instances }: Admitted): Generator<Problem> {
  for (const [name, { reason, isHandOver }] of instances.held) {
    const unit = baseline.units.get(instanceAddress(name));
    if (isHandOver !== true || unit === undefined || stacks.units.has(instanceAddress(name))) continue;
    const hint = 'bring the file back, or see "treeline held"';
    const text: ProblemText = {
      code: 'unreadable_object',
      message: `this file is gone; ${reason}`,
      hint,
      instances: [name],
    };
    yield problemAt(unit.entry, '', text);
  }
}

/** Yields the hand-written clientcerts; an invalid one keeps its active version. */
function* validOrBaseline(clientcerts: ReadonlyMap<string, Unit>, { units }: Baseline): Generator<[string, Unit]> {
  for (const [key, candidate] of clientcerts) {
    const unit = isValidUnit(candidate) ? candidate : units.get(key);
    if (unit !== undefined) yield [key, unit];
  }
}

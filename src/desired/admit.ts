// Admits the newest valid version of each instance that is compatible with all others, within the limits for deletes
// and capacity. An instance that is not admitted stays whole at its active version, or is excluded; nothing is computed
// from files of two commits.

import { isSameList } from '../base/lists.ts';
import { instanceAddress } from '../model/address.ts';
import type { Problem } from '../model/problem.ts';
import type { WantedServer } from '../model/spec.ts';
import { Admission, type AdmittedSet } from './admission.ts';
import {
  type Consequences,
  type DeleteJudgement,
  type DeletionFacts,
  findLifts,
  isSameJudgement,
  judgeDeletions,
} from './deletions.ts';
import type { Baseline, DesiredState, Limits } from './desired-state.ts';
import { capacityRefusals, hasCapacityFor, refuseGrowth } from './store-capacity.ts';
import { isRetaining, isValidUnit, type Refusal, type Unit } from './unit.ts';

/** The active instances, the problems of those that are pinned, and the judgement of deletes. */
export interface AdmittedInstances extends AdmittedSet {
  readonly limits: Limits;
  readonly problems: readonly Problem[];
  readonly held: DeleteJudgement['held'];
  readonly approved: DeleteJudgement['approved'];
  readonly spent: DeleteJudgement['spent'];
  readonly unused: DeleteJudgement['unused'];
  /**
   * Returns true if other facts lead to the same judgement of the deletes. The cost is proportional to the number of
   * deletes.
   */
  readonly holdsFor: (safety: Safety) => boolean;
}

/** The facts that limit which deletes may happen; without them, all may. */
export interface Safety {
  readonly deletions: DeletionFacts;
  /** Keys of units whose protection was lifted by a commit after the active one, up to this one. */
  readonly unprotected: ReadonlySet<string>;
  /** Size of all rows in the store, in bytes; 0 if omitted. */
  readonly recordedBytes?: number;
  /** Servers that no commit wants and that still have a row; none if omitted. */
  readonly going?: ReadonlySet<string>;
}

/** What was judged when a commit was activated, as the rows have it. */
export interface RecordedJudgement extends Pick<Safety, 'unprotected' | 'going'> {
  /** The instances that are held whole, by name. */
  readonly held: DeleteJudgement['held'];
  /** Keys of the other instances that are not at their newest version, for whatever reason. */
  readonly pinned: ReadonlySet<string>;
}

/** The versions that a commit proposes. */
export interface Proposal {
  /** All instances, valid or not, by unit key. */
  readonly candidates: ReadonlyMap<string, Unit>;
  /** Instances and files that may be meant to take over removed servers; see undetermined.ts. */
  readonly undetermined: readonly string[];
}

/** Returns the active instances after this commit. */
export function admitInstances(
  { candidates, undetermined }: Proposal,
  baseline: Baseline,
  safety?: Safety,
): AdmittedInstances {
  const waiting = new Set<string>();
  const first = attempt({ candidates, baseline, safety, waiting });
  const { problems, limits } = first;
  if (safety === undefined) return { ...first.admission.result(), problems, limits, ...UNJUDGED };
  const intended = { ...first.admission.consequences(), undetermined };
  const removed = new Map(intended.removed);
  for (let settled = first; ; ) {
    const { admission } = settled;
    const consequences = findConsequences({ admission, intended, waiting, removed });
    const judgement = judgeDeletions(consequences, safety.deletions);
    const more = [...judgement.held.keys()].filter((name) => !admission.isPinned(instanceAddress(name)));
    // Each iteration holds at least one more instance, so there are at most as many iterations as instances; usually
    // one.
    if (more.length === 0) {
      const result = admission.result();
      const { problems, limits } = settled;
      const facts = { units: result.units, limits, consequences, baseline, safety };
      return { ...result, problems, limits, ...judged(judgement, facts) };
    }
    for (const name of more) waiting.add(instanceAddress(name));
    settled = attempt({ candidates, baseline, safety, waiting });
    // Held instances keep their servers, so a version that lacked one may be admitted now, and lose servers that are
    // not judged yet.
    for (const [instance, servers] of settled.admission.losses())
      removed.set(instance, removed.get(instance) ?? servers);
  }
}

/**
 * Returns the active instances of a commit that was activated before, `baseline` being what the rows say of them: the facts of that time, such
 * as recent deletes and the size of the store, are not there any more, so what they led to is taken from the rows.
 */
export function admitAsRecorded(
  { candidates }: Pick<Proposal, 'candidates'>,
  baseline: Baseline,
  recorded: RecordedJudgement,
): AdmittedInstances {
  const waiting = new Set<string>();
  // Those that other refusals and the held ones do not explain were refused for want of capacity, so they come last.
  for (let pinned = NONE; ; ) {
    const safety = { ...recorded, pinned };
    const { admission, problems, limits } = attempt({ candidates, baseline, safety, waiting });
    const isPinned = (key: string): boolean => admission.isPinned(key);
    const more = [...recorded.held.keys()].map(instanceAddress).filter((key) => !isPinned(key));
    for (const key of more) waiting.add(key);
    if (more.length > 0) continue;
    if (pinned === recorded.pinned || [...recorded.pinned].every(isPinned))
      return { ...admission.result(), problems, limits, ...UNJUDGED, held: recorded.held };
    pinned = recorded.pinned;
  }
}

const NONE: ReadonlySet<string> = new Set();
/** The judgement of deletes where nothing limits them. */
const UNJUDGED = { held: new Map(), approved: NONE, spent: NONE, unused: NONE, holdsFor: () => false };

/**
 * Returns the consequences to judge: of a waiting instance those that its newest version would have, of the others
 * those that hold meanwhile. An instance that is pinned because of a waiting one does not want its removed servers back
 * for that.
 */
function findConsequences({
  admission,
  intended,
  waiting,
  removed,
}: {
  readonly admission: Admission;
  readonly intended: Consequences;
  readonly waiting: ReadonlySet<string>;
  readonly removed: Consequences['removed'];
}): Consequences {
  const actual = admission.consequences();
  const of = (instance: string): Omit<Consequences, 'undetermined'> =>
    waiting.has(instanceAddress(instance)) ? intended : actual;
  return {
    removed,
    handedOver: intended.handedOver,
    specOf: (server, instance) => of(instance).specOf(server, instance),
    retains: (instance) => of(instance).retains(instance),
    isPinned: (instance) => of(instance).isPinned(instance),
    undetermined: intended.undetermined,
  };
}

/** The facts of which a judgement was made. */
interface Judged {
  readonly units: AdmittedSet['units'];
  readonly limits: Limits;
  readonly consequences: Consequences;
  readonly baseline: Baseline;
  readonly safety: Safety;
}

/** Returns the judgement, and a function that tells whether other facts lead to the same one. */
function judged(judgement: DeleteJudgement, facts: Judged): DeleteJudgement & Pick<AdmittedInstances, 'holdsFor'> {
  const { consequences, safety } = facts;
  const waits = (name: string): boolean => consequences.isPinned(name) && !judgement.held.has(name);
  // A lift is remembered while the deletes that it allows are held, or wait for held ones.
  const held = new Map(
    [...judgement.held].map(([name, item]) => [name, { ...item, ...findLifts(name, safety.unprotected, waits) }]),
  );
  const holdsFor = (now: Safety): boolean =>
    now.unprotected.symmetricDifference(safety.unprotected).size === 0 &&
    isSameCapacity(now, facts) &&
    isSameJudgement(judgement, judgeDeletions(consequences, now.deletions));
  return { ...judgement, held, holdsFor };
}

/**
 * Returns true if other row sizes lead to the same refusals. If all fitted, they still do although rows were written
 * meanwhile; if some did not, any other size counts as a change.
 */
function isSameCapacity({ recordedBytes: bytes = 0 }: Safety, { units, limits, baseline, safety }: Judged): boolean {
  return (
    bytes === (safety.recordedBytes ?? 0) || (!limits.isShort && hasCapacityFor(units.values(), { baseline, bytes }))
  );
}

interface AdmissionInput {
  readonly candidates: ReadonlyMap<string, Unit>;
  readonly baseline: Baseline;
  readonly safety: Pick<Safety, 'unprotected' | 'recordedBytes' | 'going'> | RecordedJudgement | undefined;
  /** Keys of units that wait for a person's approval. */
  readonly waiting: ReadonlySet<string>;
}

interface Settled {
  readonly admission: Admission;
  readonly problems: readonly Problem[];
  readonly limits: Limits;
}

/**
 * Pins instances for their own reasons first: dependencies are checked against the versions that are active in the end.
 * If a protected unit turns out only then to lose servers, it is pinned in another attempt, before dependent units are
 * refused.
 */
function attempt({ candidates, baseline, safety, waiting }: AdmissionInput): Settled {
  const protectedUnits = new Map<string, Refusal>();
  for (;;) {
    const admission = new Admission(baseline, safety?.going ?? NONE);
    admission.propose(candidates);
    for (const key of waiting) admission.hold(key);
    for (const key of protectedUnits.keys()) admission.pin(key);
    const names = admission.settleNames();
    const problems = [...[...protectedUnits.values()].map(({ problem }) => problem), ...names];
    const losses = safety === undefined ? [] : admission.protectedLosses(safety.unprotected);
    for (const { key, problem } of losses) {
      admission.pin(key);
      problems.push(problem);
    }
    let isShort = false;
    const shortages = (units: AdmittedSet['units']): readonly Refusal[] => {
      const refusals =
        safety !== undefined && 'pinned' in safety
          ? refuseGrowth(
              [...safety.pinned].filter((key) => !admission.isPinned(key)),
              { units, baseline },
            )
          : capacityRefusals(units, { baseline, bytes: safety?.recordedBytes ?? 0 });
      isShort ||= refusals.length > 0;
      return refusals;
    };
    problems.push(...admission.settle(shortages));
    const late = safety === undefined ? [] : admission.protectedLosses(safety.unprotected);
    if (late.length === 0) return { admission, problems, limits: { isShort, awaited: admission.awaited } };
    for (const refusal of late) protectedUnits.set(refusal.key, refusal);
  }
}

/**
 * Returns what {@link admitInstances} returns for a commit that changes nothing which admission decides: every instance stays,
 * makes the same servers and depends on the same ones. So no servers of unchanged instances are looked at. Undefined where an
 * instance came, went or changed its servers, one is refused or held, or the store is short of capacity.
 */
export function keepAdmission(
  { candidates, undetermined }: Proposal,
  baseline: DesiredState,
  safety?: Safety,
): AdmittedInstances | undefined {
  const bytes = safety?.recordedBytes ?? 0;
  if (!areCompatible(candidates, baseline)) return undefined;
  if (!hasCapacityFor(candidates.values(), { baseline, bytes })) return undefined;
  const { owners } = baseline;
  const limits = { isShort: false, awaited: NONE };
  const admitted = { units: candidates, owners, refused: NONE, problems: [], limits };
  if (safety === undefined) return { ...admitted, ...UNJUDGED };
  const consequences = {
    removed: new Map(),
    handedOver: new Map(),
    specOf: (server: string) => candidates.get(owners.get(server) ?? '')?.servers.get(server)?.spec,
    retains: (instance: string) => isRetaining(candidates.get(instanceAddress(instance))),
    isPinned: () => false,
    undetermined,
  };
  const judgement = judgeDeletions(consequences, safety.deletions);
  if (judgement.held.size > 0) return undefined;
  return { ...admitted, ...judged(judgement, { units: candidates, limits, consequences, baseline, safety }) };
}

/** Returns true if all candidates are compatible because the active versions are. */
function areCompatible(candidates: ReadonlyMap<string, Unit>, baseline: DesiredState): boolean {
  // One that is refused stays active though it needs what is gone, or is in a circle.
  if (baseline.invalid.size > 0 || baseline.held.size > 0) return false;
  const active = [...baseline.units].filter(([, { type }]) => type === 'stack-instance');
  if (active.length !== candidates.size) return false;
  for (const [key, unit] of active) {
    const candidate = candidates.get(key);
    if (candidate === unit) continue;
    if (candidate === undefined || !isValidUnit(candidate) || !hasSameTies(candidate, unit)) return false;
  }
  return true;
}

/** Returns true if both versions make the same servers, with the same dependencies. */
function hasSameTies(unit: Unit, active: Unit): boolean {
  if (unit.servers.size !== active.servers.size || !isSameList(neededBy(unit), neededBy(active))) return false;
  return [...unit.servers].every(([name, server]) => hasSameDependencies(server, active.servers.get(name)));
}

function hasSameDependencies({ spec }: WantedServer, active: WantedServer | undefined): boolean {
  return active !== undefined && isSameList(spec.dependsOn, active.spec.dependsOn);
}

/** Returns the dependencies on servers of other instances, as pairs. */
function neededBy({ outside }: Unit): readonly string[] {
  return outside.flatMap(({ of, server }) => [of, server]);
}

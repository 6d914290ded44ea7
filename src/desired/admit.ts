// Which version of each unit comes into force: the newest sound one, as long as it gets along with all the others.
// A unit that does not stays whole at its older version, or out; nothing is ever computed from files of two commits.
import { instanceAddress } from '../model/address.ts';
import type { Problem } from '../model/problem.ts';
import { Admission, type AdmittedSet } from './admission.ts';
import { type Consequences, type DeletionFacts, isSameJudgement, type Judgement, judgeDeletions } from './deletions.ts';
import type { Baseline, Limits } from './desired-state.ts';
import { liftsOf } from './lifts.ts';
import { capacityRefusals, hasCapacityFor } from './store-capacity.ts';
import type { Refusal, Unit } from './unit.ts';

export interface AdmittedInstances extends AdmittedSet {
  readonly limits: Limits;
  readonly problems: readonly Problem[];
  readonly held: Judgement['held'];
  readonly approved: Judgement['approved'];
  readonly spent: Judgement['spent'];
  readonly unused: Judgement['unused'];
  /** Tells whether other facts judge the deletes in the same way. It takes no longer than these are many. */
  readonly holdsFor: (safety: Safety) => boolean;
}

/** What has a say in which deletes may happen; without it, all may. */
export interface Safety {
  readonly deletions: DeletionFacts;
  /** Keys of units whose protection a commit between the one in force and this one has lifted. */
  readonly unprotected: ReadonlySet<string>;
  /** What all rows take in the store; 0 if left out. */
  readonly recordedBytes?: number;
}

/** What a commit proposes. */
export interface Proposal {
  /** All instances, sound or not, by unit key. */
  readonly candidates: ReadonlyMap<string, Unit>;
  /** What may be meant to take over servers that go; see undetermined.ts. */
  readonly undetermined: readonly string[];
}

/** Returns which instances are in force after this commit. */
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
    const consequences = consequencesOf({ admission, intended, waiting, removed });
    const judgement = judgeDeletions(consequences, safety.deletions);
    const more = [...judgement.held.keys()].filter((name) => !admission.isPinned(instanceAddress(name)));
    // Each turn holds one instance more, so there are at most as many turns as instances; almost always there is one.
    if (more.length === 0) {
      const result = admission.result();
      const isSameCapacity = sameCapacity(result, { limits: settled.limits, baseline, safety });
      const { problems, limits } = settled;
      return { ...result, problems, limits, ...judged(judgement, { consequences, safety, isSameCapacity }) };
    }
    for (const name of more) waiting.add(instanceAddress(name));
    settled = attempt({ candidates, baseline, safety, waiting });
    // What is held keeps its servers, so an instance that missed one may move now, and lose servers that are not judged yet.
    for (const [instance, servers] of settled.admission.losses())
      removed.set(instance, removed.get(instance) ?? servers);
  }
}

const NONE: ReadonlySet<string> = new Set();
const UNJUDGED = { held: new Map(), approved: NONE, spent: NONE, unused: NONE, holdsFor: () => false };

/**
 * What waits for a person is judged by what it would do. Of the others counts what becomes of them while that waits: who
 * is pinned because of it wants its servers no more again than before.
 */
function consequencesOf({
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
  const of = (instance: string): ReturnType<Admission['consequences']> =>
    waiting.has(instanceAddress(instance)) ? intended : actual;
  return {
    removed,
    specOf: (server, instance) => of(instance).specOf(server, instance),
    retains: (instance) => of(instance).retains(instance),
    isPinned: (instance) => of(instance).isPinned(instance),
    undetermined: intended.undetermined,
  };
}

/** What was judged, and whether other facts judge it in the same way. */
function judged(
  judgement: Judgement,
  {
    consequences,
    safety,
    isSameCapacity,
  }: {
    readonly consequences: Consequences;
    readonly safety: Safety;
    readonly isSameCapacity: (now: Safety) => boolean;
  },
): Judgement & Pick<AdmittedInstances, 'holdsFor'> {
  const waits = (name: string): boolean => consequences.isPinned(name) && !judgement.held.has(name);
  // A lift is remembered for as long as what it allows is held, or waits for what is.
  const held = new Map(
    [...judgement.held].map(([name, item]) => [name, { ...item, ...liftsOf(name, safety.unprotected, waits) }]),
  );
  const holdsFor = (now: Safety): boolean =>
    now.unprotected.symmetricDifference(safety.unprotected).size === 0 &&
    isSameCapacity(now) &&
    isSameJudgement(judgement, judgeDeletions(consequences, now.deletions));
  return { ...judgement, held, holdsFor };
}

/** What fits still fits, although rows were written meanwhile; where something did not, any other size is another answer. */
function sameCapacity(
  { units }: AdmittedSet,
  {
    limits: { isShort },
    baseline,
    safety,
  }: { readonly limits: Limits; readonly baseline: Baseline; readonly safety: Safety },
): (now: Safety) => boolean {
  return ({ recordedBytes: bytes = 0 }) =>
    bytes === (safety.recordedBytes ?? 0) || (!isShort && hasCapacityFor(units.values(), { baseline, bytes }));
}

interface Attempt {
  readonly candidates: ReadonlyMap<string, Unit>;
  readonly baseline: Baseline;
  readonly safety: Safety | undefined;
  /** Keys of units that wait for a person. */
  readonly waiting: ReadonlySet<string>;
}

interface Settled {
  readonly admission: Admission;
  readonly problems: readonly Problem[];
  readonly limits: Limits;
}

/**
 * Who stays for its own sake is pinned first: dependencies are looked up in what is in force after all. A protected
 * unit that only then turns out to lose servers is pinned in another attempt, before anybody misses them.
 */
function attempt({ candidates, baseline, safety, waiting }: Attempt): Settled {
  const protectedUnits = new Map<string, Refusal>();
  for (;;) {
    const admission = new Admission(candidates, baseline);
    for (const key of waiting) admission.hold(key);
    for (const key of protectedUnits.keys()) admission.pin(key);
    const problems = [...[...protectedUnits.values()].map(({ problem }) => problem), ...admission.settleNames()];
    const lose = (): readonly Refusal[] => (safety === undefined ? [] : admission.protectedLosses(safety.unprotected));
    const losses = lose();
    for (const { key, problem } of losses) {
      admission.pin(key);
      problems.push(problem);
    }
    const recorded = { baseline, bytes: safety?.recordedBytes ?? 0 };
    let isShort = false;
    const shortages = (units: AdmittedSet['units']): readonly Refusal[] => {
      const refusals = capacityRefusals(units, recorded);
      isShort ||= refusals.length > 0;
      return refusals;
    };
    problems.push(...admission.settle(shortages));
    const late = lose();
    const isProtecting = protectedUnits.size + losses.length > 0;
    if (late.length === 0) return { admission, problems, limits: { isProtecting, isShort } };
    for (const refusal of late) protectedUnits.set(refusal.key, refusal);
  }
}

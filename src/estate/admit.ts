// Which version of each unit comes into force: the newest sound one, as long as it gets along with all the others.
// A unit that does not stays whole at its older version, or out; nothing is ever computed from files of two commits.
import type { Problem } from '../model/problem.ts';
import { type Consequences, type DeletionFacts, isSameJudgement, type Judgement, judgeDeletions } from './deletions.ts';
import type { Standing } from './estate.ts';
import { liftsOf } from './lifts.ts';
import { isRoomFor, roomRefusals } from './room.ts';
import { type Alliance, type Refusal, Round } from './round.ts';
import type { Unit } from './unit.ts';

export interface Admission extends Alliance {
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
export function admitInstances({ candidates, undetermined }: Proposal, standing: Standing, safety?: Safety): Admission {
  const waiting = new Set<string>();
  const first = attempt({ candidates, standing, safety, waiting });
  if (safety === undefined) return { ...first.round.result(), problems: first.problems, ...UNJUDGED };
  const intended = { ...first.round.consequences(), undetermined };
  const leaving = new Map(intended.leaving);
  for (let { round, problems } = first; ; ) {
    const consequences = consequencesOf({ round, intended, waiting, leaving });
    const judgement = judgeDeletions(consequences, safety.deletions);
    const more = [...judgement.held.keys()].filter((name) => !round.isSentBack(`instance/${name}`));
    // Each turn holds one instance more, so there are at most as many turns as instances; almost always there is one.
    if (more.length === 0) {
      const { units } = round.result();
      const isSameRoom = sameRoom({ units, problems, standing, safety });
      return { ...round.result(), problems, ...judged(judgement, { consequences, safety, isSameRoom }) };
    }
    for (const name of more) waiting.add(`instance/${name}`);
    ({ round, problems } = attempt({ candidates, standing, safety, waiting }));
    // What is held keeps its servers, so somebody who missed one may move now, and lose servers that nobody has judged.
    for (const [instance, servers] of round.losses()) leaving.set(instance, leaving.get(instance) ?? servers);
  }
}

const NONE: ReadonlySet<string> = new Set();
const UNJUDGED = { held: new Map(), approved: NONE, spent: NONE, unused: NONE, holdsFor: () => false };

/**
 * What waits for a person is judged by what it would do. Of the others counts what becomes of them while that waits: who
 * is sent back because of it wants its servers no more again than before.
 */
function consequencesOf({
  round,
  intended,
  waiting,
  leaving,
}: {
  readonly round: Round;
  readonly intended: Consequences;
  readonly waiting: ReadonlySet<string>;
  readonly leaving: Consequences['leaving'];
}): Consequences {
  const actual = round.consequences();
  const of = (instance: string): ReturnType<Round['consequences']> =>
    waiting.has(`instance/${instance}`) ? intended : actual;
  return {
    leaving,
    specOf: (server, instance) => of(instance).specOf(server, instance),
    retains: (instance) => of(instance).retains(instance),
    staysBack: (instance) => of(instance).staysBack(instance),
    undetermined: intended.undetermined,
  };
}

/** What was judged, and whether other facts judge it in the same way. */
function judged(
  judgement: Judgement,
  {
    consequences,
    safety,
    isSameRoom,
  }: {
    readonly consequences: Consequences;
    readonly safety: Safety;
    readonly isSameRoom: (now: Safety) => boolean;
  },
): Judgement & Pick<Admission, 'holdsFor'> {
  const waits = (name: string): boolean => consequences.staysBack(name) && !judgement.held.has(name);
  // A lift is remembered for as long as what it allows is held, or waits for what is.
  const held = new Map(
    [...judgement.held].map(([name, item]) => [name, { ...item, ...liftsOf(name, safety.unprotected, waits) }]),
  );
  const holdsFor = (now: Safety): boolean =>
    now.unprotected.symmetricDifference(safety.unprotected).size === 0 &&
    isSameRoom(now) &&
    isSameJudgement(judgement, judgeDeletions(consequences, now.deletions));
  return { ...judgement, held, holdsFor };
}

/** What fits still fits, although rows were written meanwhile; where something did not, any other size is another answer. */
function sameRoom({
  units,
  problems,
  standing,
  safety,
}: Pick<Alliance, 'units'> & {
  readonly problems: readonly Problem[];
  readonly standing: Standing;
  readonly safety: Safety;
}): (now: Safety) => boolean {
  const isShort = problems.some(({ code }) => code === 'no_room');
  return ({ recordedBytes: bytes = 0 }) =>
    bytes === (safety.recordedBytes ?? 0) || (!isShort && isRoomFor(units.values(), { standing, bytes }));
}

interface Attempt {
  readonly candidates: ReadonlyMap<string, Unit>;
  readonly standing: Standing;
  readonly safety: Safety | undefined;
  /** Keys of units that wait for a person. */
  readonly waiting: ReadonlySet<string>;
}

interface Settled {
  readonly round: Round;
  readonly problems: readonly Problem[];
}

/**
 * Who stays for its own sake is sent back first: dependencies are looked up in what is in force after all. A protected
 * unit that only then turns out to lose servers is sent back in another attempt, before anybody misses them.
 */
function attempt({ candidates, standing, safety, waiting }: Attempt): Settled {
  const protectedUnits = new Map<string, Refusal>();
  for (;;) {
    const round = new Round(candidates, standing);
    for (const key of waiting) round.hold(key);
    for (const key of protectedUnits.keys()) round.sendBack(key);
    const problems = [...[...protectedUnits.values()].map(({ problem }) => problem), ...round.settleNames()];
    const lose = (): readonly Refusal[] => (safety === undefined ? [] : round.protectedLosses(safety.unprotected));
    for (const { key, problem } of lose()) {
      round.sendBack(key);
      problems.push(problem);
    }
    const recorded = { standing, bytes: safety?.recordedBytes ?? 0 };
    problems.push(...round.settle((units) => roomRefusals(units, recorded)));
    const late = lose();
    if (late.length === 0) return { round, problems };
    for (const refusal of late) protectedUnits.set(refusal.key, refusal);
  }
}

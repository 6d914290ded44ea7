// Which version of each unit comes into force: the newest sound one, as long as it gets along with all the others.
// A unit that does not stays whole at its older version, or out; nothing is ever computed from files of two commits.
import type { Problem } from '../model/problem.ts';
import { type DeletionFacts, type HeldDeletes, isSameJudgement, type Judgement, judgeDeletions } from './deletions.ts';
import type { Standing } from './estate.ts';
import { roomRefusals } from './room.ts';
import { type Alliance, type Refusal, Round } from './round.ts';
import type { Unit } from './unit.ts';

export interface Admission extends Alliance {
  readonly problems: readonly Problem[];
  readonly held: Judgement['held'];
  readonly approved: Judgement['approved'];
  readonly spent: Judgement['spent'];
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

/** Returns which instances are in force after this commit. `candidates` are all of them, sound or not. */
export function admitInstances(candidates: ReadonlyMap<string, Unit>, standing: Standing, safety?: Safety): Admission {
  const round = new Round(candidates, standing);
  const recorded = { standing, bytes: safety?.recordedBytes ?? 0 };
  const refusals = (): readonly Refusal[] => {
    const refused = [...round.refusals(), ...round.strandedHandOvers(candidates)];
    // Only when the rest is settled: who is refused for something else needs no room.
    return refused.length > 0 ? refused : roomRefusals(round.result().units, recorded);
  };
  const problems = narrow(round, refusals);
  if (safety === undefined) return { ...round.result(), problems, ...UNJUDGED };
  problems.push(...narrow(round, () => [...refusals(), ...round.protectedLosses(safety.unprotected)]));
  const consequences = round.consequences();
  const judgement = judgeDeletions(consequences, safety.deletions);
  for (const instance of judgement.held.keys()) round.hold(`instance/${instance}`);
  // What is held keeps its server names, so others may have to wait for them.
  problems.push(...narrow(round, refusals));
  const held = new Map([...judgement.held].map(([instance, item]) => [instance, withLift(instance, item, safety)]));
  const holdsFor = ({ deletions, unprotected }: Safety): boolean =>
    unprotected.symmetricDifference(safety.unprotected).size === 0 &&
    isSameJudgement(judgement, judgeDeletions(consequences, deletions));
  return { ...round.result(), problems, ...judgement, held, holdsFor };
}

const UNJUDGED = { held: new Map(), approved: new Set<string>(), spent: new Set<string>(), holdsFor: () => false };

/** A lift is remembered for as long as what it allows is held. */
function withLift(instance: string, item: HeldDeletes, { unprotected }: Safety): HeldDeletes {
  return unprotected.has(`instance/${instance}`) ? { ...item, isLifted: true } : item;
}

/** Sends units back until nothing is refused any more; returns why. */
function narrow(round: Round, refusals: () => readonly Refusal[]): Problem[] {
  const problems: Problem[] = [];
  // Every round sends at least one unit back, so there are at most as many rounds as units.
  for (let refused = refusals(); refused.length > 0; refused = refusals()) {
    for (const { key, problem } of refused) {
      round.sendBack(key);
      problems.push(problem);
    }
  }
  return problems;
}

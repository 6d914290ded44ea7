// Decides which instance may have a server name that several claim.
import { compareNames } from '../model/names.ts';
import type { Claim } from './claims.ts';
import { nameTaken } from './refusal-texts.ts';
import type { Versions } from './versions.ts';

/** A claim that loses, and the text that says so. */
export interface LostClaim {
  readonly key: string;
  readonly text: ReturnType<typeof nameTaken>;
}

/** Yields the claims that lose among those that have become contested since the last call. */
export function* lostClaims(versions: Versions): Generator<LostClaim> {
  const rank = ({ key }: Claim): number => rankOf(key, versions);
  for (const claims of versions.claims.takeContested()) {
    const [first, ...others] = [...claims].sort((a, b) => rank(a) - rank(b) || compareNames(a.key, b.key));
    for (const other of others) if (first !== undefined) yield* losersOf(other, first, versions);
  }
}

/** The order among several claims of a name: versions in force, then their newer ones, then newcomers. */
function rankOf(key: string, versions: Versions): number {
  if (versions.isStaying(key)) return 0;
  return versions.baseline.units.has(key) ? 1 : 2;
}

/** The later of two loses, unless it is the one that had the name before, or both are new: then neither may have it. */
function losersOf(late: Claim, early: Claim, versions: Versions): readonly LostClaim[] {
  const had = ({ key, name }: Claim): boolean => versions.baseline.owners.get(name) === key;
  const losers = had(late) ? [early] : had(early) ? [late] : [late, early];
  const lost = losers.map((loser) => ({ key: loser.key, text: nameTaken(loser, loser === late ? early : late) }));
  const moving = lost.filter(({ key }) => versions.newest.has(key));
  // Versions in force never clash; where they were put together wrongly, one has to go, and its servers are left alone.
  return moving.length > 0 ? moving : lost.slice(0, 1);
}

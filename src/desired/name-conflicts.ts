// Decides which instance gets a server name that several claim.
import { compareNames } from '../model/names.ts';
import type { NameClaim } from './claims.ts';
import { nameTaken } from './refusal-texts.ts';
import type { Versions } from './versions.ts';

/** A losing claim, and the text of the problem. */
interface LostClaim {
  readonly key: string;
  /** The server, as the losing instance spells it. */
  readonly server: string;
  readonly text: ReturnType<typeof nameTaken>;
}

/** Yields the claims that lose among those that have become contested since the last call. */
export function* lostClaims(versions: Versions): Generator<LostClaim> {
  const rank = ({ key }: NameClaim): number => rankOf(key, versions);
  for (const claims of versions.claims.takeContested()) {
    const [first, ...others] = [...claims].sort((a, b) => rank(a) - rank(b) || compareNames(a.key, b.key));
    for (const other of others) if (first !== undefined) yield* losersOf(other, first, versions);
  }
}

/** Returns the rank of a claim: active versions first, then their newer versions, then new instances. */
function rankOf(key: string, versions: Versions): number {
  if (versions.isStaying(key)) return 0;
  return versions.baseline.units.has(key) ? 1 : 2;
}

/** Returns the losers of two claims: the later one, unless it had the name before; both, if both are new. */
function losersOf(late: NameClaim, early: NameClaim, versions: Versions): readonly LostClaim[] {
  const had = ({ key, name }: NameClaim): boolean => versions.baseline.owners.get(name) === key;
  const losers = had(late) ? [early] : had(early) ? [late] : [late, early];
  const lost = losers.map((loser) => ({
    key: loser.key,
    server: loser.name,
    text: nameTaken(loser, loser === late ? early : late),
  }));
  const moving = lost.filter(({ key }) => versions.newest.has(key));
  // Active versions never conflict; should the baseline be inconsistent, one is removed and its servers are left alone.
  return moving.length > 0 ? moving : lost.slice(0, 1);
}

// Finds the protection and retention of an instance that loses servers: those of the newest version before the loss
// that has all its servers. Later versions can only make them stricter. docs/decisions/0012.
import type { LossPolicy } from '../model/rows.ts';
import type { Baseline, DesiredState, LossPolicies } from './desired-state.ts';
import { isProtected, isRetaining, isValidUnit, type Unit, unitAddress } from './unit.ts';

type Units = ReadonlyMap<string, Unit>;

/** The instances of a commit, each judged alone. */
export interface Proposed {
  readonly candidates: Units;
  /** The valid version that makes each server. */
  readonly makers: Units;
}

const NOTHING: LossPolicy = { protected: false, deletion: 'delete' };
const UNREADABLE =
  'a commit since the active version has a file of this instance that cannot be read, so it is not known ' +
  'whether it protects or retains these servers';

/** Returns the policy of one version. */
export function policyOf(unit: Pick<Unit, 'entry'>): LossPolicy {
  return { protected: isProtected(unit), deletion: isRetaining(unit) ? 'retain' : 'delete' };
}

/** Returns the stricter of two policies. */
function stricter(a: LossPolicy, b: LossPolicy): LossPolicy {
  const hold = a.hold ?? b.hold;
  return {
    protected: a.protected || b.protected,
    deletion: a.deletion === 'retain' ? 'retain' : b.deletion,
    ...(hold === undefined ? {} : { hold }),
  };
}

/** Returns the versions of a commit, with an index of their servers. */
export function proposedBy(candidates: Units): Proposed {
  const makers = new Map<string, Unit>();
  for (const unit of candidates.values()) {
    if (unit.type !== 'stack-instance' || !isValidUnit(unit)) continue;
    for (const server of unit.servers.keys()) makers.set(server, unit);
  }
  return { candidates, makers };
}

/** Returns the active instances that may lose servers by a commit, because it does not have all their servers. */
function losingInstances(candidates: Units, { units }: Pick<Baseline, 'units'>): Units {
  return new Map([...units].filter(([key, unit]) => unit.servers.size > 0 && !isWhole(candidates.get(key), unit)));
}

function isWhole(unit: Unit | undefined, active: Unit): boolean {
  if (unit === active) return true;
  return unit !== undefined && isValidUnit(unit) && [...active.servers.keys()].every((name) => unit.servers.has(name));
}

/** Searches the versions of one instance, from the newest commit back. */
export class LossSearch {
  readonly #key: string;
  readonly #active: Unit;
  /** The policy of the versions that were searched. */
  #added = NOTHING;
  /** The last searched commit in which the instance is not invalid, and the active servers that the commit has. */
  #later: Proposed;
  #made: ReadonlySet<string>;
  /** True once a version with all servers was found. */
  isEnded = false;

  /** `newest`: the commit that removes servers, or in which the instance is invalid. */
  constructor(key: string, active: Unit, newest: Proposed) {
    this.#key = key;
    this.#active = active;
    this.#later = newest;
    const own = newest.candidates.get(key);
    this.#made = own !== undefined && !isValidUnit(own) ? new Set() : this.#madeBy(newest);
  }

  #madeBy({ makers }: Proposed): ReadonlySet<string> {
    return new Set([...this.#active.servers.keys()].filter((name) => makers.has(name)));
  }

  /**
   * Adds the previous commit. A version counts if the next commit removes one of its servers, as if it had come alone.
   */
  add(commit: Proposed): void {
    const own = commit.candidates.get(this.#key);
    if (own !== undefined && !isValidUnit(own)) {
      this.addInvalid(own.entry.object === null ? undefined : own);
      return;
    }
    const made = this.#madeBy(commit);
    for (const name of made.difference(this.#made)) this.#addMaker(commit.makers.get(name) ?? this.#active);
    this.isEnded = own !== undefined && isWhole(own, this.#active);
    if (own !== undefined && this.isEnded) this.#add(policyOf(own));
    this.#made = made;
    this.#later = commit;
  }

  /** Adds a version that loses servers, and the retention of its successor. */
  #addMaker(unit: Unit): void {
    this.#add(policyOf(unit));
    if (isRetaining(this.#later.candidates.get(unitAddress(unit)))) this.#add({ ...NOTHING, deletion: 'retain' });
  }

  /** Adds a version that cannot be derived; undefined: its file cannot be read. */
  addInvalid(own: Pick<Unit, 'entry'> | undefined): void {
    this.#add(own === undefined ? { ...NOTHING, hold: UNREADABLE } : policyOf(own));
  }

  /** Ends the search before a version with all servers is found. */
  addUnknown(hold: string): void {
    this.#add({ ...NOTHING, hold });
  }

  #add(policy: LossPolicy): void {
    this.#added = stricter(this.#added, policy);
  }

  /** Returns the policy. `before`: the policy that counts before all commits that were searched. */
  end(before: LossPolicy): LossPolicy {
    if (this.isEnded) return this.#added;
    const isReplaced = this.#made.size < this.#active.servers.size;
    if (isReplaced && isRetaining(this.#later.candidates.get(this.#key))) this.#add({ ...NOTHING, deletion: 'retain' });
    return stricter(this.#added, before);
  }
}

/** Returns the policies that the searches found. `followed`: the desired state before all searched commits, if any. */
export function policiesOf(
  searches: ReadonlyMap<string, LossSearch>,
  { units }: Pick<Baseline, 'units'>,
  followed: DesiredState | undefined,
): LossPolicies {
  const policies = new Map<string, LossPolicy>();
  let proposed: Proposed | undefined;
  for (const [key, search] of searches) {
    const active = units.get(key);
    if (active === undefined) continue;
    const own = policyOf(active);
    // If the instance is held or invalid, the followed commit may have another version.
    const isActive = followed === undefined || followed.candidates.get(key) === active;
    if (!isActive && !search.isEnded) {
      proposed ??= proposedBy(followed.candidates);
      search.add(proposed);
    }
    const policy = search.end((isActive ? undefined : followed.losses.get(key)) ?? own);
    if (policy.hold !== undefined || policy.protected !== own.protected || policy.deletion !== own.deletion)
      policies.set(key, policy);
  }
  return policies;
}

/** Returns a search for each instance that may lose servers, by unit key. */
export function searchesFor(candidates: Units, baseline: Pick<Baseline, 'units'>): ReadonlyMap<string, LossSearch> {
  const losing = losingInstances(candidates, baseline);
  const newest = proposedBy(losing.size === 0 ? losing : candidates);
  return new Map([...losing].map(([key, active]) => [key, new LossSearch(key, active, newest)]));
}

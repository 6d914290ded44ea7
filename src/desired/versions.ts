// Tracks the version of each instance while an admission pins those that are not compatible. Does not know the reasons.
import { nameAt } from '../model/address.ts';
import type { LossPolicy } from '../model/rows.ts';
import type { Baseline, LossPolicies } from './desired-state.ts';
import { policyOf } from './loss-policy.ts';
import { isRetaining, isSameVersion, type Unit, unitAddress } from './unit.ts';

/** The versions that an admission has selected so far. */
export class Versions {
  readonly baseline: Baseline;
  readonly #policies: LossPolicies;
  readonly #newest = new Map<string, Unit>();
  /** Instances that stay at their active version. Active versions are compatible with one another. */
  readonly #staying = new Map<string, Unit>();
  /** Instances that are not at their newest version. Some have no active version. */
  readonly #pinned = new Set<string>();
  readonly #claims = new NameOwners();

  constructor(baseline: Baseline, policies: LossPolicies) {
    this.baseline = baseline;
    this.#policies = policies;
  }

  /** Instances at their newest version, by address. */
  get newest(): ReadonlyMap<string, Unit> {
    return this.#newest;
  }

  get pinned(): ReadonlySet<string> {
    return this.#pinned;
  }

  get claims(): Pick<NameOwners, 'all' | 'contested' | 'ownerOf'> {
    return this.#claims;
  }

  isStaying(key: string): boolean {
    return this.#staying.has(key);
  }

  /** Returns every instance at its current version; those without one are omitted. */
  all(): ReadonlyMap<string, Unit> {
    return new Map([...this.#staying, ...this.#newest]);
  }

  of(key: string): Unit | undefined {
    return this.#newest.get(key) ?? this.#staying.get(key);
  }

  /** Returns the instance that makes a server. */
  makerOf(server: string): Unit | undefined {
    return this.of(this.#claims.ownerOf(server) ?? '');
  }

  /** Returns true if the instance is at another version than the active one. */
  isNew(unit: Unit): boolean {
    const key = unitAddress(unit);
    const before = this.baseline.units.get(key);
    return this.#newest.has(key) && (before === undefined || !isSameVersion(unit, before));
  }

  /** Moves an instance to its newest version. */
  move(key: string, unit: Unit): void {
    this.#newest.set(key, unit);
    this.#claims.add(key, unit);
  }

  /**
   * Moves an instance back to its active version, or removes it if there is none. Returns the version that it leaves,
   * if any.
   */
  pin(key: string): Unit | undefined {
    const newest = this.#newest.get(key);
    if (newest !== undefined) {
      this.#newest.delete(key);
      this.#claims.remove(key, newest);
    }
    const older = this.baseline.units.get(key);
    if (older !== undefined && !this.#pinned.has(key)) {
      this.#staying.set(key, older);
      this.#claims.add(key, older);
    }
    this.#pinned.add(key);
    return newest;
  }

  /** Removes an instance whose active version is not compatible with another one. Returns the removed version. */
  evict(key: string): Unit | undefined {
    const unit = this.#staying.get(key);
    if (unit === undefined) return undefined;
    this.#staying.delete(key);
    this.#claims.remove(key, unit);
    return unit;
  }

  /** Returns the active servers that no version has any more, by instance. */
  losses({ withRetained = false } = {}): ReadonlyMap<string, readonly string[]> {
    const losses = new Map<string, string[]>();
    for (const [server, key] of this.baseline.owners) {
      if (this.#claims.ownerOf(server) !== undefined || this.#isUnreadable(key)) continue;
      if (!withRetained && this.isRetained(key)) continue;
      const instance = nameAt(key);
      const known = losses.get(instance);
      if (known === undefined) losses.set(instance, [server]);
      else known.push(server);
    }
    return losses;
  }

  /** Returns the policy that applies if an instance loses servers. */
  policyFor(key: string): LossPolicy | undefined {
    const active = this.baseline.units.get(key);
    return this.#policies.get(key) ?? (active && policyOf(active));
  }

  /** Returns true if the previous policy or the new version retains the servers that an instance loses. */
  isRetained(key: string): boolean {
    return this.policyFor(key)?.deletion === 'retain' || isRetaining(this.of(key));
  }

  /** The file exists but has no valid version, so it is unknown whether its servers are unwanted. */
  #isUnreadable(key: string): boolean {
    return this.#pinned.has(key) && !this.#staying.has(key);
  }
}

/** A server name as one instance spells it. */
export interface NameClaim {
  readonly key: string;
  readonly name: string;
}

/** Tracks claims without regard to case: many systems treat names that differ only in case as equal. */
class NameOwners {
  readonly #byName = new Map<string, NameClaim[]>();
  /** Names with several claims. */
  readonly #contested = new Set<string>();

  add(key: string, unit: Unit): void {
    for (const name of unit.servers.keys()) {
      const folded = name.toLowerCase();
      const claims = this.#byName.get(folded);
      if (claims === undefined) this.#byName.set(folded, [{ key, name }]);
      else {
        claims.push({ key, name });
        this.#contested.add(folded);
      }
    }
  }

  remove(key: string, unit: Unit): void {
    for (const name of unit.servers.keys()) {
      const folded = name.toLowerCase();
      const left = (this.#byName.get(folded) ?? []).filter((claim) => claim.key !== key);
      if (left.length < 2) this.#contested.delete(folded);
      if (left.length === 0) this.#byName.delete(folded);
      else this.#byName.set(folded, left);
    }
  }

  /** Returns the claims of each name that several instances claim. */
  contested(): readonly (readonly NameClaim[])[] {
    return [...this.#contested].map((name) => this.#byName.get(name) ?? []);
  }

  /** Returns the key of the instance that has a server of exactly this spelling, or undefined. */
  ownerOf(server: string): string | undefined {
    const claim = this.#byName.get(server.toLowerCase())?.[0];
    return claim?.name === server ? claim.key : undefined;
  }

  /** Yields one claim per name: every claim, if no name is contested. */
  *all(): Generator<NameClaim> {
    for (const [first] of this.#byName.values()) if (first !== undefined) yield first;
  }
}

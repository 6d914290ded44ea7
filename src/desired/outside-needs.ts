// Checks that the servers on which instances depend outside of themselves are made. An instance is checked again only
// if one of them may be gone. A unit whose newest version needs a server that the newest version of its owner gives up waits
// until the owner is decided: if that is pinned in the end, the server stays.
import { problemAt } from '../model/entry.ts';
import type { MissingServers } from './missing-servers.ts';
import type { Refusal, Unit } from './unit.ts';
import type { Versions } from './versions.ts';

/** Finds the instances of an admission that need a server which no version makes. */
export class OutsideNeeds {
  readonly #versions: Versions;
  readonly #missing: MissingServers;
  readonly #unchecked = new Set<string>();
  readonly #givenUp = new GivenUpNeeds();
  #dependents: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(versions: Versions, missing: MissingServers) {
    this.#versions = versions;
    this.#missing = missing;
  }

  /** Returns true if an instance needs a server that its owner gives up, and the owner is not decided. */
  get hasUndecided(): boolean {
    return this.#givenUp.size > 0;
  }

  /** Enqueues an instance for a check. */
  check(key: string): void {
    this.#unchecked.add(key);
  }

  /** Notes that a version was removed, and with it its servers. */
  onGone(unit: Unit | undefined): void {
    for (const server of unit?.servers.keys() ?? []) {
      if (this.#versions.claims.ownerOf(server) !== undefined) continue;
      this.#dependents ??= dependentsIn(this.#versions.newest);
      for (const key of this.#dependents.get(server) ?? []) if (this.#versions.newest.has(key)) this.check(key);
    }
  }

  /** Notes that an instance is pinned, so that it keeps the servers that it would have given up. */
  onPinned(key: string): void {
    this.#givenUp.remove(key);
    for (const waiter of this.#givenUp.waitersOf(key)) this.check(waiter);
  }

  /**
   * Returns refusals for servers that are missing now. An instance whose needed server is given up by its owner stays
   * undecided.
   */
  refusals(): readonly Refusal[] {
    const unchecked = [...this.#unchecked];
    this.#unchecked.clear();
    return unchecked.flatMap((key) => {
      this.#givenUp.remove(key);
      const missing = this.#missingOf(key);
      const owner = this.#versions.baseline.owners.get(missing?.server ?? '');
      if (missing === undefined || owner === undefined || this.#versions.pinned.has(owner)) return this.#refuse(key);
      this.#givenUp.add(key, owner);
      return [];
    });
  }

  /** Returns refusals for servers that their owners give up for good. */
  givenUpRefusals(): readonly Refusal[] {
    return this.#givenUp.takeDecided().flatMap((key) => this.#refuse(key));
  }

  #missingOf(key: string): Unit['outside'][number] | undefined {
    const { newest, claims } = this.#versions;
    return newest.get(key)?.outside.find(({ server }) => claims.ownerOf(server) === undefined);
  }

  #refuse(key: string): readonly Refusal[] {
    const unit = this.#versions.newest.get(key);
    const missing = this.#missingOf(key);
    if (unit === undefined || missing === undefined) return [];
    const { entry, pointer } = missing.origin;
    const names = (): Iterable<string> => this.#versions.claims.all().map(({ name }) => name);
    const text = this.#missing.textFor(missing, unit, names);
    return [{ key, problem: problemAt(entry, pointer, { ...text, instances: [unit.name] }) }];
  }
}

/** Returns, by server, the keys of the units that depend on it and do not make it. */
function dependentsIn(units: ReadonlyMap<string, Unit>): ReadonlyMap<string, readonly string[]> {
  const dependents = new Map<string, string[]>();
  for (const [key, { outside }] of units) {
    for (const server of new Set(outside.map((one) => one.server))) {
      const known = dependents.get(server);
      if (known === undefined) dependents.set(server, [key]);
      else known.push(key);
    }
  }
  return dependents;
}

/** The units that wait for an owner that is not decided, by owner and by unit. */
class GivenUpNeeds {
  /** The owner that each of these units waits for. */
  readonly #owners = new Map<string, string>();
  readonly #waiters = new Map<string, Set<string>>();
  /** Units whose owner is not checked yet for waiting itself. */
  readonly #unasked = new Set<string>();

  get size(): number {
    return this.#owners.size;
  }

  /** Notes a unit that needs a server of `owner`. */
  add(key: string, owner: string): void {
    this.remove(key);
    this.#owners.set(key, owner);
    const waiters = this.#waiters.get(owner);
    if (waiters === undefined) this.#waiters.set(owner, new Set([key]));
    else waiters.add(key);
    this.#unasked.add(key);
  }

  /** Notes that a unit is decided. */
  remove(key: string): void {
    const owner = this.#owners.get(key);
    if (owner === undefined) return;
    this.#owners.delete(key);
    this.#waiters.get(owner)?.delete(key);
    this.#unasked.delete(key);
    for (const waiter of this.waitersOf(key)) this.#unasked.add(waiter);
  }

  /** Returns the units that need a server of this one. */
  waitersOf(owner: string): Iterable<string> {
    return this.#waiters.get(owner) ?? [];
  }

  /** Returns units whose owner gives the server up for good; if all wait for each other, one unit of a cycle. */
  takeDecided(): readonly string[] {
    const decided = [...this.#unasked].filter((key) => {
      const owner = this.#owners.get(key);
      return owner === key || owner === undefined || !this.#owners.has(owner);
    });
    this.#unasked.clear();
    return decided.length > 0 || this.#owners.size === 0 ? decided : [this.#oneOfCircle()];
  }

  #oneOfCircle(): string {
    const seen = new Set<string>();
    let [key = ''] = this.#owners.keys();
    while (!seen.has(key)) {
      seen.add(key);
      key = this.#owners.get(key) ?? key;
    }
    return key;
  }
}

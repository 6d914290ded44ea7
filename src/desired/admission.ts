// One attempt at a set of unit versions that get along: what it cannot hold together it names, and is narrowed by.
import { instanceAddress, nameAt } from '../model/address.ts';
import { problemAt } from '../model/entry.ts';
import { compareNames } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { type Claim, Claims } from './claims.ts';
import type { Consequences } from './deletions.ts';
import { dependentsIn } from './dependents.ts';
import type { Baseline } from './desired-state.ts';
import { findCycles } from './find-cycle.ts';
import { GivenUpNeeds } from './given-up-needs.ts';
import { MissingServers } from './missing-servers.ts';
import { handedToUnprotected } from './protected-losses.ts';
import { circleText, handOverText, nameTaken, type ProtectedLoss, protectedText } from './refusal-texts.ts';
import { isProtected, isRetaining, isSameVersion, isValidUnit, type Unit, unitAddress } from './unit.ts';

/** A set of versions that get along. */
export interface AdmittedSet {
  /** Instances in force, by unit key. */
  readonly units: ReadonlyMap<string, Unit>;
  /** Server name to the key of the unit that makes it. */
  readonly owners: ReadonlyMap<string, string>;
  /** Keys of the instances that cannot come into force as they are now, wrong ones included. */
  readonly refused: ReadonlySet<string>;
}

/** A unit that cannot come into force as it is, and why. */
export interface Refusal {
  readonly key: string;
  readonly problem: Problem;
}

/** One attempt at a set of versions that get along, narrowed until nothing is refused. Each unit costs what it makes and needs. */
export class Admission {
  readonly #baseline: Baseline;
  /** Units at their newest version. */
  readonly #moving = new Map<string, Unit>();
  /** Whoever is not at its newest version; it may be at an older one that is the same. */
  readonly #pinned = new Set<string>();
  /** Those of them that could come into force, and wait for a person. */
  readonly #held = new Set<string>();
  /** Units at the version that is in force already; together these got along before, and still do. */
  readonly #staying = new Map<string, Unit>();
  readonly #claims = new Claims();
  readonly #missing = new MissingServers();
  /** Servers of versions that cannot come into force of which nobody has asked yet who loses them. */
  readonly #refusedServers = new Set<string>();
  /** Units whose dependencies have to be looked up: at first all, then those that depend on what has gone. */
  readonly #unchecked = new Set<string>();
  readonly #givenUp = new GivenUpNeeds();
  #dependents: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(candidates: ReadonlyMap<string, Unit>, baseline: Baseline) {
    this.#baseline = baseline;
    for (const [key, unit] of candidates) {
      if (unit.type !== 'stack-instance') continue;
      if (isValidUnit(unit)) this.#move(key, unit);
      else this.#reject(key, unit);
    }
  }

  /** What is held waits for a person; it is not refused, unless it is wrong too. */
  result(): AdmittedSet {
    const owners = new Map([...this.#claims.all()].map(({ name, key }) => [name, key]));
    const units = new Map([...this.#staying, ...this.#moving]);
    return { units, owners, refused: this.#pinned.difference(this.#held) };
  }

  /** What this round means for servers, as long as it is not narrowed further. */
  consequences(): Omit<Consequences, 'undetermined'> {
    return {
      removed: this.losses(),
      specOf: (server) => this.#unitOf(server)?.servers.get(server)?.spec,
      retains: (instance) =>
        isRetaining(this.#moving.get(instanceAddress(instance)) ?? this.#staying.get(instanceAddress(instance))),
      isPinned: (instance) => this.#pinned.has(instanceAddress(instance)),
    };
  }

  /** Servers that are in force until now and that no unit of this round makes, by instance. */
  losses({ withRetained = false } = {}): ReadonlyMap<string, readonly string[]> {
    const losses = new Map<string, string[]>();
    for (const [server, key] of this.#baseline.owners) {
      if (this.#claims.ownerOf(server) !== undefined || this.#isUnreadable(key)) continue;
      if (!withRetained && this.#isRetained(key, server)) continue;
      const instance = nameOfUnit(key);
      const known = losses.get(instance);
      if (known === undefined) losses.set(instance, [server]);
      else known.push(server);
    }
    return losses;
  }

  /**
   * Units that would give a server away to one that cannot come into force: they stay too, or nobody would want the
   * server any more and it would be deleted.
   */
  #strandedHandOvers(): Refusal[] {
    const refused = new Map<string, Refusal>();
    for (const server of this.#refusedServers) {
      const key = this.#baseline.owners.get(server);
      if (key === undefined || this.#claims.ownerOf(server) !== undefined || this.#isRetained(key, server)) continue;
      const unit = this.#baseline.units.get(key);
      if (unit === undefined || this.#pinned.has(key) || refused.has(key)) continue;
      const file = this.#moving.get(key)?.entry ?? unit.entry;
      const text = handOverText(server, this.#missing.makerOf(server)?.name ?? '');
      refused.set(key, { key, problem: problemAt(file, '/stackTemplate', { ...text, instances: [unit.name] }) });
    }
    this.#refusedServers.clear();
    return [...refused.values()];
  }

  /** Units that would lose servers although they are protected until now: retained ones too, and to ones that are not protected. */
  protectedLosses(unprotected: ReadonlySet<string>): readonly Refusal[] {
    const losses = new Map<string, ProtectedLoss>();
    for (const [instance, deleted] of this.losses({ withRetained: true })) losses.set(instance, { deleted, given: [] });
    for (const [instance, given] of handedToUnprotected(this.#baseline.units, (server) => this.#unitOf(server))) {
      losses.set(instance, { deleted: losses.get(instance)?.deleted ?? [], given });
    }
    return [...losses].flatMap(([instance, loss]) => {
      const key = instanceAddress(instance);
      const unit = this.#baseline.units.get(key);
      if (unit === undefined || !isProtected(unit) || unprotected.has(key) || this.#staying.has(key)) return [];
      const file = this.#moving.get(key)?.entry ?? unit.entry;
      return [{ key, problem: problemAt(file, '/protected', protectedText(instance, loss)) }];
    });
  }

  /** Its file is there, but no right version of it was found: nobody knows that its servers are not wanted. */
  #isUnreadable(key: string): boolean {
    return this.#pinned.has(key) && !this.#staying.has(key);
  }

  /** By the version that is in force until now, or by the one that comes into force. */
  #isRetained(key: string, server: string): boolean {
    if (this.#baseline.units.get(key)?.servers.get(server)?.policy.deletion === 'retain') return true;
    return isRetaining(this.#moving.get(key) ?? this.#staying.get(key));
  }

  /** Lets a unit wait for a person, at the version that is in force. */
  hold(key: string): void {
    if (!this.#pinned.has(key)) this.#held.add(key);
    this.pin(key);
  }

  isPinned(key: string): boolean {
    return this.#pinned.has(key);
  }

  /** Leaves a unit at the version that is in force, or out where there is none. */
  pin(key: string): void {
    const newest = this.#moving.get(key);
    if (newest !== undefined) {
      this.#moving.delete(key);
      this.#claims.remove(key, newest);
    }
    this.#reject(key, newest);
    for (const server of newest?.servers.keys() ?? []) this.#recheckDependents(server);
    this.#givenUp.remove(key);
    for (const waiter of this.#givenUp.waitersOf(key)) this.#unchecked.add(waiter);
  }

  /** Sends units back until names and hand-overs get along. Whoever only depends on something is not looked at yet. */
  settleNames(): Problem[] {
    return this.#narrow(() => this.#nameRefusals());
  }

  /**
   * Sends units back until all get along; returns why. Each is looked at again only where something of it has changed.
   * Who needs a server that its owner gives up is refused after all who may keep that owner as it was. `lastly` may refuse some of what is settled: who is refused for something else needs no room.
   */
  settle(lastly: (units: AdmittedSet['units']) => readonly Refusal[]): Problem[] {
    const problems = this.#narrow(() =>
      firstOf(
        () => this.#nameRefusals(),
        () => this.#danglingDependencies(),
        () => (this.#givenUp.size === 0 ? [] : this.#cycles()),
      ),
    );
    const others = this.#narrow(() =>
      firstOf(
        () => this.#nameRefusals(),
        () => this.#danglingDependencies(),
        () => this.#givenUpDependencies(),
        () => this.#cycles(),
        () => lastly(new Map([...this.#staying, ...this.#moving])),
      ),
    );
    return [...problems, ...others];
  }

  /** Sends back at least one unit a turn, so there are at most as many turns as units. */
  #narrow(refusals: () => readonly Refusal[]): Problem[] {
    const problems: Problem[] = [];
    for (let refused = refusals(); refused.length > 0; refused = refusals()) {
      for (const { key, problem } of refused) {
        this.pin(key);
        problems.push(problem);
      }
    }
    return problems;
  }

  #nameRefusals(): Refusal[] {
    const clashes = this.#clashes();
    return clashes.length > 0 ? clashes : this.#strandedHandOvers();
  }

  #move(key: string, unit: Unit): void {
    this.#moving.set(key, unit);
    this.#claims.add(key, unit);
    this.#unchecked.add(key);
  }

  /** Notes what the newest version would make, and puts the version in force in its place. */
  #reject(key: string, newest: Unit | undefined): void {
    const older = this.#baseline.units.get(key);
    if (older !== undefined && !this.#pinned.has(key)) {
      this.#staying.set(key, older);
      this.#claims.add(key, older);
    }
    this.#pinned.add(key);
    if (newest === undefined) return;
    if (older === undefined && newest.servers.size === 0 && !isValidUnit(newest))
      this.#missing.refuseUnknown(newest.name);
    this.#missing.refuse(newest);
    for (const server of newest.servers.keys()) this.#refusedServers.add(server);
  }

  /** Puts a unit out of force whose version in force does not get along with another one in force. */
  #evict(key: string): void {
    const unit = this.#staying.get(key);
    if (unit === undefined) return;
    this.#staying.delete(key);
    this.#claims.remove(key, unit);
    for (const server of unit.servers.keys()) this.#recheckDependents(server);
  }

  #clashes(): Refusal[] {
    const refused = new Map<string, Refusal>();
    for (const claims of this.#claims.takeContested()) {
      const order = [...claims].sort((a, b) => this.#rank(a) - this.#rank(b) || compareNames(a.key, b.key));
      for (const [holder, other] of order.slice(1).map((claim) => [order[0] ?? claim, claim] as const)) {
        for (const refusal of this.#clash(other, holder)) refused.set(refusal.key, refusal);
      }
    }
    return [...refused.values()];
  }

  /** Who is looked at first where several claim a name: versions in force, then their newer ones, then newcomers. */
  #rank({ key }: Claim): number {
    if (this.#staying.has(key)) return 0;
    return this.#baseline.units.has(key) ? 1 : 2;
  }

  /** The later of two loses, unless it is the one that had the name before, or both are new: then neither may have it. */
  #clash(late: Claim, early: Claim): Refusal[] {
    const losers = this.#hadBefore(late) ? [early] : this.#hadBefore(early) ? [late] : [late, early];
    const texts = losers.map((loser) => ({ key: loser.key, text: nameTaken(loser, loser === late ? early : late) }));
    const moving = texts.filter(({ key }) => this.#moving.has(key));
    if (moving.length > 0) return moving.flatMap(({ key, text }) => this.#refuse(key, text));
    // Versions in force never clash; where they were put together wrongly, one has to go, and its servers are left alone.
    const [first] = texts;
    return first === undefined ? [] : this.#refuse(first.key, first.text);
  }

  #hadBefore({ key, name }: Claim): boolean {
    return this.#baseline.owners.get(name) === key;
  }

  #danglingDependencies(): Refusal[] {
    const unchecked = [...this.#unchecked];
    this.#unchecked.clear();
    return unchecked.flatMap((key) => {
      this.#givenUp.remove(key);
      const missing = this.#missingOf(key);
      const owner = this.#baseline.owners.get(missing?.server ?? '');
      if (missing === undefined || owner === undefined || this.#pinned.has(owner)) return this.#refuseDangling(key);
      this.#givenUp.add(key, owner);
      return [];
    });
  }

  #givenUpDependencies(): Refusal[] {
    return this.#givenUp.takeDecided().flatMap((key) => this.#refuseDangling(key));
  }

  #missingOf(key: string): Unit['outside'][number] | undefined {
    return this.#moving.get(key)?.outside.find(({ server }) => this.#claims.ownerOf(server) === undefined);
  }

  #refuseDangling(key: string): Refusal[] {
    const unit = this.#moving.get(key);
    const missing = this.#missingOf(key);
    if (unit === undefined || missing === undefined) return [];
    const { entry, pointer } = missing.origin;
    const text = this.#missing.textFor(missing, unit, () => this.#names());
    return [{ key, problem: problemAt(entry, pointer, { ...text, instances: [unit.name] }) }];
  }

  *#names(): Generator<string> {
    for (const { name } of this.#claims.all()) yield name;
  }

  #recheckDependents(server: string): void {
    if (this.#claims.ownerOf(server) !== undefined) return;
    this.#dependents ??= dependentsIn(this.#moving);
    for (const key of this.#dependents.get(server) ?? []) if (this.#moving.has(key)) this.#unchecked.add(key);
  }

  /** Every new version that is part of a circle is refused, at the dependency by which the circle leaves it. */
  #cycles(): Refusal[] {
    const starts = [...this.#moving.values()].flatMap((unit) => unit.outside.map(({ of }) => of));
    const refused: Refusal[] = [];
    const gone = new Set<string>();
    const graph = {
      next: (server: string) => this.#unitOf(server)?.servers.get(server)?.spec.dependsOn ?? [],
      isGone: (server: string) => gone.has(this.#claims.ownerOf(server) ?? ''),
    };
    for (const cycle of findCycles(starts, graph)) {
      for (const refusal of this.#refuseCycle(cycle)) {
        refused.push(refusal);
        gone.add(refusal.key);
      }
    }
    return refused;
  }

  #refuseCycle(cycle: readonly string[]): Refusal[] {
    return cycle.slice(0, -1).flatMap((server, position) => {
      const unit = this.#unitOf(server);
      const link = unit?.outside.find((one) => one.of === server && one.server === cycle[position + 1]);
      if (unit === undefined || link === undefined || !this.#isNewVersion(unit)) return [];
      const { entry, pointer } = link.origin;
      const problem = problemAt(entry, pointer, { ...circleText(cycle), instances: [unit.name] });
      return [{ key: unitAddress(unit), problem }];
    });
  }

  #isNewVersion(unit: Unit): boolean {
    const key = unitAddress(unit);
    const before = this.#baseline.units.get(key);
    return this.#moving.has(key) && (before === undefined || !isSameVersion(unit, before));
  }

  #unitOf(server: string): Unit | undefined {
    const key = this.#claims.ownerOf(server) ?? '';
    return this.#moving.get(key) ?? this.#staying.get(key);
  }

  #refuse(key: string, text: { readonly code: string; readonly message: string; readonly hint: string }): Refusal[] {
    const unit = this.#moving.get(key) ?? this.#staying.get(key);
    if (unit === undefined) return [];
    this.#evict(key);
    return [{ key, problem: problemAt(unit.entry, '/parameters', { ...text, instances: [unit.name] }) }];
  }
}

/** Returns what the first of these refuses that refuses anything. */
function firstOf(...refusals: readonly (() => readonly Refusal[])[]): readonly Refusal[] {
  for (const refuse of refusals) {
    const refused = refuse();
    if (refused.length > 0) return refused;
  }
  return [];
}

function nameOfUnit(key: string): string {
  return nameAt(key);
}

// Admission selects, for every instance, the newest valid version that is compatible with the others. A version that is not
// is refused, and its instance pinned to the version in force. docs/decisions/0003 and 0027.

import { instanceAddress } from '../model/address.ts';
import { problemAt } from '../model/entry.ts';
import type { Problem } from '../model/problem.ts';
import type { Consequences } from './deletions.ts';
import { cycleRefusals } from './dependency-cycles.ts';
import type { Baseline } from './desired-state.ts';
import { handOverRefusals, protectedRefusals } from './lost-servers.ts';
import { MissingServers } from './missing-servers.ts';
import { lostClaims } from './name-conflicts.ts';
import { OutsideNeeds } from './outside-needs.ts';
import { isValidUnit, type Refusal, type Unit } from './unit.ts';
import { Versions } from './versions.ts';

/** A set of versions that are compatible. */
export interface AdmittedSet {
  /** Instances in force, by address. */
  readonly units: ReadonlyMap<string, Unit>;
  /** Server name to the address of the instance that makes it. */
  readonly owners: ReadonlyMap<string, string>;
  /** Addresses of the instances that cannot come into force as they are now, wrong ones included. */
  readonly refused: ReadonlySet<string>;
}

/** One attempt at a set of compatible versions, narrowed until nothing is refused. Each instance costs what it makes and needs. */
export class Admission {
  readonly #versions: Versions;
  /** Pinned instances that could come into force, and wait for a person. */
  readonly #held = new Set<string>();
  readonly #missing = new MissingServers();
  readonly #needs: OutsideNeeds;
  /** Servers of refused versions for which it was not checked yet which instance loses them. */
  readonly #refusedServers = new Set<string>();

  constructor(candidates: ReadonlyMap<string, Unit>, baseline: Baseline) {
    this.#versions = new Versions(baseline);
    this.#needs = new OutsideNeeds(this.#versions, this.#missing);
    for (const [key, unit] of candidates) {
      if (unit.type !== 'stack-instance') continue;
      if (isValidUnit(unit)) this.#move(key, unit);
      else this.#reject(key, unit);
    }
  }

  /** Returns the versions as they are now. A held instance waits for a person; it is not refused, unless it is wrong too. */
  result(): AdmittedSet {
    const owners = new Map([...this.#versions.claims.all()].map(({ name, key }) => [name, key]));
    return { units: this.#versions.all(), owners, refused: this.#versions.pinned.difference(this.#held) };
  }

  /** Returns what the versions mean for servers, as long as no more are pinned. */
  consequences(): Omit<Consequences, 'undetermined'> {
    return {
      removed: this.losses(),
      specOf: (server) => this.#versions.makerOf(server)?.servers.get(server)?.spec,
      retains: (instance) => this.#versions.retains(instance),
      isPinned: (instance) => this.isPinned(instanceAddress(instance)),
    };
  }

  /** Returns the servers that are in force until now and that no version makes, by instance. */
  losses(): ReadonlyMap<string, readonly string[]> {
    return this.#versions.losses();
  }

  /** Returns refusals of the protected instances that would lose servers. */
  protectedLosses(unprotected: ReadonlySet<string>): readonly Refusal[] {
    return protectedRefusals(this.#versions, unprotected);
  }

  isPinned(key: string): boolean {
    return this.#versions.pinned.has(key);
  }

  /** Lets an instance wait for a person, at the version that is in force. */
  hold(key: string): void {
    if (!this.isPinned(key)) this.#held.add(key);
    this.pin(key);
  }

  /** Leaves an instance at the version that is in force, or out where there is none. */
  pin(key: string): void {
    const newest = this.#versions.newest.get(key);
    this.#reject(key, newest);
    this.#needs.onGone(newest);
    this.#needs.onPinned(key);
  }

  /** Pins instances until names and hand-overs are compatible. Dependencies are not checked yet. */
  settleNames(): Problem[] {
    return this.#narrow(() => this.#nameRefusals());
  }

  /**
   * Pins instances until all are compatible; returns why. An instance that needs a server which its owner gives up is
   * refused after all that may keep that owner as it was. `lastly` may refuse some of what is settled: what is refused
   * for something else needs no capacity.
   */
  settle(lastly: (units: AdmittedSet['units']) => readonly Refusal[]): Problem[] {
    const names = (): readonly Refusal[] => this.#nameRefusals();
    const needs = (): readonly Refusal[] => this.#needs.refusals();
    const cycles = (): readonly Refusal[] => cycleRefusals(this.#versions);
    const firstProblems = this.#narrow(() => firstOf(names, needs, () => (this.#needs.hasUndecided ? cycles() : [])));
    const givenUp = (): readonly Refusal[] => this.#needs.givenUpRefusals();
    const otherProblems = this.#narrow(() =>
      firstOf(names, needs, givenUp, cycles, () => lastly(this.#versions.all())),
    );
    return [...firstProblems, ...otherProblems];
  }

  /** Pins at least one instance each time, so it ends after at most as many times as there are instances. */
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

  #move(key: string, unit: Unit): void {
    this.#versions.move(key, unit);
    this.#needs.check(key);
  }

  /** Puts the version in force in the place of the newest one, and notes what that would have made. */
  #reject(key: string, newest: Unit | undefined): void {
    this.#versions.pin(key);
    if (newest === undefined) return;
    const isNewcomer = !this.#versions.baseline.units.has(key);
    if (isNewcomer && newest.servers.size === 0 && !isValidUnit(newest)) this.#missing.refuseUnknown(newest.name);
    this.#missing.refuse(newest);
    for (const server of newest.servers.keys()) this.#refusedServers.add(server);
  }

  #nameRefusals(): readonly Refusal[] {
    const refused = new Map<string, Refusal>();
    for (const { key, text } of lostClaims(this.#versions)) {
      const unit = this.#versions.of(key);
      if (unit === undefined) continue;
      this.#needs.onGone(this.#versions.evict(key));
      refused.set(key, { key, problem: problemAt(unit.entry, '/parameters', { ...text, instances: [unit.name] }) });
    }
    if (refused.size > 0) return [...refused.values()];
    const stranded = handOverRefusals(this.#refusedServers, this.#versions, this.#missing);
    this.#refusedServers.clear();
    return stranded;
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

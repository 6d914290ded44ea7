// Admission selects, for every instance, the newest valid version that is compatible with the others. A version that is
// not is refused, and its instance pinned to the active version. docs/decisions/0001.

import { instanceAddress } from '../model/address.ts';
import { problemAt } from '../model/entry.ts';
import type { Problem } from '../model/problem.ts';
import type { Consequences } from './deletions.ts';
import type { Baseline } from './desired-state.ts';
import { MissingServers } from './missing-servers.ts';
import { OutsideNeeds } from './outside-needs.ts';
import {
  cycleRefusals,
  existingNames,
  findCaseClash,
  handOverRefusals,
  lostClaims,
  protectedRefusals,
} from './refusals.ts';
import { isValidUnit, type Refusal, type Unit } from './unit.ts';
import { Versions } from './versions.ts';

/** A set of versions that are compatible. */
export interface AdmittedSet {
  /** Active instances, by address. */
  readonly units: ReadonlyMap<string, Unit>;
  /** Server name to the address of the instance that makes it. */
  readonly owners: ReadonlyMap<string, string>;
  /** Addresses of the instances whose newest version cannot become active, invalid ones included. */
  readonly refused: ReadonlySet<string>;
}

/**
 * One attempt to find a set of compatible versions: pins instances until nothing is refused. The cost per instance is
 * proportional to the servers that it makes and needs.
 */
export class Admission {
  readonly #versions: Versions;
  /** Pinned instances whose newest version is compatible and waits for a person's approval. */
  readonly #held = new Set<string>();
  readonly #missing = new MissingServers();
  readonly #needs: OutsideNeeds;
  /** Servers of refused versions for which it is not checked yet which instance loses them. */
  readonly #refusedServers = new Set<string>();
  /** By lower-case name, the servers that exist. */
  readonly #existing: ReadonlyMap<string, string>;
  /** Refusals of names that differ only in case from one that exists. */
  readonly #caseClashes: Refusal[] = [];
  readonly #awaited = new Set<string>();

  /** `going`: servers that no commit wants and that still have a row. */
  constructor(baseline: Baseline, going: ReadonlySet<string>) {
    this.#versions = new Versions(baseline);
    this.#existing = existingNames(baseline, going);
    this.#needs = new OutsideNeeds(this.#versions, this.#missing);
  }

  /** Selects the newest version of every instance, where that is valid. */
  propose(candidates: ReadonlyMap<string, Unit>): void {
    for (const [key, unit] of candidates) {
      if (unit.type !== 'stack-instance') continue;
      if (isValidUnit(unit) && !this.#clashesInCase(key, unit)) this.#move(key, unit);
      else this.#reject(key, unit);
    }
  }

  /** Servers that have to be gone before one of the refused versions can become active. */
  get awaited(): ReadonlySet<string> {
    return this.#awaited;
  }

  #clashesInCase(key: string, unit: Unit): boolean {
    const { owners } = this.#versions.baseline;
    const clash = findCaseClash(unit, { owners, existing: this.#existing });
    if (clash === undefined) return false;
    const { server, other, text } = clash;
    this.#awaited.add(other);
    const problem = problemAt(unit.entry, placeOfName(unit, server), { ...text, instances: [unit.name] });
    this.#caseClashes.push({ key, problem });
    return true;
  }

  /** Returns the current versions. A held instance waits for a person; it is not refused, unless it is invalid too. */
  result(): AdmittedSet {
    const owners = new Map<string, string>();
    for (const { name, key } of this.#versions.claims.all()) owners.set(name, key);
    return { units: this.#versions.all(), owners, refused: this.#versions.pinned.difference(this.#held) };
  }

  /** Returns the consequences of the current versions for servers, as long as no more are pinned. */
  consequences(): Omit<Consequences, 'undetermined'> {
    return {
      removed: this.losses(),
      handedOver: this.#versions.handedOver(),
      specOf: (server) => this.#versions.makerOf(server)?.servers.get(server)?.spec,
      retains: (instance) => this.#versions.retains(instance),
      isPinned: (instance) => this.isPinned(instanceAddress(instance)),
    };
  }

  /** Returns the active servers that no version makes any more, by instance. */
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

  /** Holds an instance at its active version until a person approves. */
  hold(key: string): void {
    if (!this.isPinned(key)) this.#held.add(key);
    this.pin(key);
  }

  /** Pins an instance to its active version, or excludes it if there is none. */
  pin(key: string): void {
    const newest = this.#versions.newest.get(key);
    this.#reject(key, newest);
    this.#needs.onGone(newest);
    this.#needs.onPinned(key);
  }

  /** Pins instances until names and hand-overs are compatible. Does not check dependencies yet. */
  settleNames(): Problem[] {
    const clashes = this.#caseClashes.map(({ problem }) => problem);
    return [...clashes, ...this.#narrow(() => this.#nameRefusals())];
  }

  /**
   * Pins instances until all are compatible; returns the problems. An instance that needs a server which its owner
   * gives up is refused last, since another refusal may pin that owner and keep the server. `lastly` may refuse some of
   * the settled versions: a version refused for another reason needs no capacity.
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

  /** Pins at least one instance per iteration, so there are at most as many iterations as instances. */
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

  /** Replaces the newest version with the active one, and notes the servers that the newest would have made. */
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
    for (const { key, server, text } of lostClaims(this.#versions)) {
      const unit = this.#versions.of(key);
      if (unit === undefined) continue;
      this.#needs.onGone(this.#versions.evict(key));
      refused.set(key, {
        key,
        problem: problemAt(unit.entry, placeOfName(unit, server), { ...text, instances: [unit.name] }),
      });
    }
    if (refused.size > 0) return [...refused.values()];
    const stranded = handOverRefusals(this.#refusedServers, this.#versions, this.#missing);
    this.#refusedServers.clear();
    return stranded;
  }
}

/** Returns the refusals of the first function that returns any. */
function firstOf(...refusals: readonly (() => readonly Refusal[])[]): readonly Refusal[] {
  for (const refuse of refusals) {
    const refused = refuse();
    if (refused.length > 0) return refused;
  }
  return [];
}

/** Returns the pointer of the value in the instance's file that is the name of a server, else that of its parameters. */
function placeOfName(unit: Unit, server: string): string {
  const origin = unit.nodes.get(server)?.own[0]?.blame?.('name');
  return origin !== undefined && origin.entry === unit.entry ? origin.pointer : '/parameters';
}

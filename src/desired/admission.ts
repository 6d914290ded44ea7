// Admission selects, for every instance, the newest valid version that is compatible with the others. It pins instances
// to their active versions until no check refuses one. docs/decisions/0001.

import { instanceAddress } from '../model/address.ts';
import type { Problem } from '../model/problem.ts';
import type { Spec } from '../model/spec.ts';
import type { Admitted } from './deletions.ts';
import type { Baseline, LossPolicies } from './desired-state.ts';
import { MissingServers, missingRefusals } from './missing-servers.ts';
import {
  cycleRefusals,
  existingNames,
  findCaseClash,
  handOverRefusals,
  nameRefusals,
  protectedRefusals,
} from './refusals.ts';
import { isRetaining, isValidUnit, type Refusal, type Unit } from './unit.ts';
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

/** The versions to select from, and what limits the selection. */
export interface AdmissionInput {
  readonly candidates: ReadonlyMap<string, Unit>;
  readonly baseline: Baseline;
  /** Instances that stay at their active version until a user approves their deletes, by address. */
  readonly waiting: ReadonlySet<string>;
  /** Servers that no commit wants and that still have a row. */
  readonly unwanted: ReadonlySet<string>;
  /** The policies of instances that lose servers; undefined: protection is not checked. */
  readonly losses: LossPolicies | undefined;
  /** Runs last, because a version that is refused for another reason needs no capacity. */
  readonly capacity: (versions: Versions) => readonly Refusal[];
}

/** The selected versions of one attempt. The constructor pins instances until all versions are compatible. */
export class Admission implements Admitted {
  readonly problems: Problem[] = [];
  /** Servers that have to be gone before one of the refused versions can become active. */
  readonly awaited = new Set<string>();
  readonly #input: AdmissionInput;
  readonly #versions: Versions;
  readonly #missing = new MissingServers();
  /** Pinned instances whose newest version is compatible and waits for approval. */
  readonly #held = new Set<string>();

  constructor(input: AdmissionInput) {
    this.#input = input;
    this.#versions = new Versions(input.baseline, input.losses ?? new Map());
    this.#propose();
    for (const key of input.waiting) this.#hold(key);
    // Each round pins an instance or removes one, so there are at most twice as many rounds as instances.
    for (let refused = this.#refusals(); refused.length > 0; refused = this.#refusals()) {
      for (const { key, problem } of refused) this.#refuse(key, problem);
    }
  }

  /** Returns the current versions. A held instance waits for approval; it is refused only if it is invalid too. */
  result(): AdmittedSet {
    const owners = new Map<string, string>();
    for (const { name, key } of this.#versions.claims.all()) owners.set(name, key);
    return { units: this.#versions.all(), owners, refused: this.#versions.pinned.difference(this.#held) };
  }

  specOf(server: string): Spec | undefined {
    return this.#versions.makerOf(server)?.servers.get(server)?.spec;
  }

  retains(instance: string): boolean {
    return isRetaining(this.#versions.of(instanceAddress(instance)));
  }

  isPinned(instance: string): boolean {
    return this.#versions.pinned.has(instanceAddress(instance));
  }

  /** Returns the active servers that no version has any more, by instance. */
  losses(): ReadonlyMap<string, readonly string[]> {
    return this.#versions.losses();
  }

  /** Selects the newest version of every instance if it is valid alone. */
  #propose(): void {
    const { candidates, baseline, unwanted } = this.#input;
    const existing = { owners: baseline.owners, existing: existingNames(baseline, unwanted) };
    for (const [key, unit] of candidates) {
      if (unit.type !== 'stack-instance') continue;
      const clash = isValidUnit(unit) ? findCaseClash(unit, existing) : undefined;
      if (isValidUnit(unit) && clash === undefined) this.#versions.move(key, unit);
      else this.#pin(key, unit);
      if (clash === undefined) continue;
      this.awaited.add(clash.other);
      this.problems.push(clash.problem);
    }
  }

  #hold(key: string): void {
    if (!this.#versions.pinned.has(key)) this.#held.add(key);
    this.#pin(key, this.#versions.newest.get(key));
  }

  /** Pins an instance, or removes it if its active version is not compatible either. */
  #refuse(key: string, problem: Problem): void {
    this.problems.push(problem);
    if (this.#versions.isStaying(key)) this.#versions.evict(key);
    else this.#pin(key, this.#versions.newest.get(key));
  }

  /** Replaces the newest version with the active one, and records the servers that the newest would have made. */
  #pin(key: string, newest: Unit | undefined): void {
    this.#versions.pin(key);
    if (newest !== undefined) this.#missing.refuse(newest, { isNew: !this.#input.baseline.units.has(key) });
  }

  /**
   * Returns the refusals of the first check that refuses an instance. Protected instances are pinned before others miss
   * their servers.
   */
  #refusals(): readonly Refusal[] {
    const [versions, missing] = [this.#versions, this.#missing];
    const { losses } = this.#input;
    return firstOf(
      () => nameRefusals(versions),
      () => handOverRefusals(versions, missing),
      () => (losses === undefined ? [] : protectedRefusals(versions)),
      () => missingRefusals(versions, missing, { isFinal: false }),
      () => cycleRefusals(versions),
      () => missingRefusals(versions, missing, { isFinal: true }),
      () => this.#capacityRefusals(),
    );
  }

  #capacityRefusals(): readonly Refusal[] {
    const refused = this.#input.capacity(this.#versions);
    if (refused.length > 0) for (const server of this.#input.unwanted) this.awaited.add(server);
    return refused;
  }
}

/** Returns the refusals of the first function that returns any. */
function firstOf(...checks: readonly (() => readonly Refusal[])[]): readonly Refusal[] {
  for (const check of checks) {
    const refused = check();
    if (refused.length > 0) return refused;
  }
  return [];
}

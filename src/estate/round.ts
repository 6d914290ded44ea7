// One attempt at a set of unit versions that get along: what it cannot hold together it names, and is narrowed by.
import { printCycle } from '../expand/dependency-order.ts';
import { problemAt } from '../model/entry.ts';
import { compareNames } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { didYouMean } from '../model/suggest.ts';
import type { Consequences } from './deletions.ts';
import type { Standing } from './estate.ts';
import { findCycle } from './find-cycle.ts';
import { isProtected, isRetaining, isSameVersion, isSound, type Unit, unitKey } from './unit.ts';

/** Names for which the nearest one is looked for in one round. */
const SUGGESTIONS_MAX = 20;

interface Claim {
  readonly key: string;
  readonly name: string;
}

/** A set of versions that get along. */
export interface Alliance {
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

/** One attempt at a set of versions that get along, narrowed until nothing is refused. */
export class Round {
  readonly #standing: Standing;
  /** Units at their newest version. */
  readonly #moving = new Map<string, Unit>();
  /** Whoever is not at its newest version; it may be at an older one that is the same. */
  readonly #sentBack = new Set<string>();
  /** Those of them that could come into force, and wait for a person. */
  readonly #held = new Set<string>();
  /** Units at the version that is in force already; together these got along before, and still do. */
  readonly #staying = new Map<string, Unit>();
  /** By lower-case server name: names that differ only in case would be one name to most of what they meet. */
  #claims: ReadonlyMap<string, Claim> = new Map();

  constructor(candidates: ReadonlyMap<string, Unit>, standing: Standing) {
    this.#standing = standing;
    for (const [key, unit] of candidates) {
      if (unit.kind !== 'instance') continue;
      if (isSound(unit)) this.#moving.set(key, unit);
      else this.sendBack(key);
    }
  }

  /** What is held waits for a person; it is not refused, unless it is wrong too. */
  result(): Alliance {
    const owners = new Map([...this.#claims.values()].map(({ name, key }) => [name, key]));
    const units = new Map([...this.#staying, ...this.#moving]);
    return { units, owners, refused: this.#sentBack.difference(this.#held) };
  }

  /** What this round means for servers, as it is now: it may be narrowed later. */
  consequences(): Consequences {
    const claims = this.#claims;
    const units = new Map([...this.#staying, ...this.#moving]);
    return {
      leaving: this.losses(),
      specOf(server) {
        const claim = claims.get(server.toLowerCase());
        return claim?.name === server ? units.get(claim.key)?.servers.get(server)?.spec : undefined;
      },
      retains: (instance) => isRetaining(units.get(`instance/${instance}`)),
    };
  }

  /** Servers that are in force until now and that no unit of this round makes, by instance. */
  losses({ withRetained = false } = {}): ReadonlyMap<string, readonly string[]> {
    const losses = new Map<string, string[]>();
    for (const [server, key] of this.#standing.owners) {
      if (this.#ownerOf(server) !== undefined || this.#isUnreadable(key)) continue;
      if (!withRetained && this.#isRetained(key, server)) continue;
      const instance = nameOfUnit(key);
      losses.set(instance, [...(losses.get(instance) ?? []), server]);
    }
    return losses;
  }

  /**
   * Units that would give a server away to one that cannot come into force: they stay too, or nobody would want the
   * server any more and it would be deleted.
   */
  strandedHandOvers(candidates: ReadonlyMap<string, Unit>): readonly Refusal[] {
    const takers = new Map<string, Unit>();
    for (const key of this.#sentBack) {
      const taker = candidates.get(key);
      for (const server of taker?.servers.keys() ?? []) if (taker !== undefined) takers.set(server, taker);
    }
    return [...this.losses()].flatMap(([instance, servers]) => {
      const key = `instance/${instance}`;
      const server = servers.find((one) => takers.has(one));
      const unit = this.#standing.units.get(key);
      if (server === undefined || unit === undefined || this.#staying.has(key)) return [];
      const file = this.#moving.get(key)?.entry ?? unit.entry;
      const text = handOverText(server, takers.get(server)?.name ?? '');
      return [{ key, problem: problemAt(file, '/stackTemplate', { ...text, instances: [instance] }) }];
    });
  }

  /** Units that would lose servers although they are protected until now, retained ones too. */
  protectedLosses(unprotected: ReadonlySet<string>): readonly Refusal[] {
    return [...this.losses({ withRetained: true })].flatMap(([instance, servers]) => {
      const key = `instance/${instance}`;
      const unit = this.#standing.units.get(key);
      if (unit === undefined || !isProtected(unit) || unprotected.has(key) || this.#staying.has(key)) return [];
      const file = this.#moving.get(key)?.entry ?? unit.entry;
      return [{ key, problem: problemAt(file, '/protected', protectedText(instance, servers)) }];
    });
  }

  /** Its file is there, but no right version of it was found: nobody knows that its servers are not wanted. */
  #isUnreadable(key: string): boolean {
    return this.#sentBack.has(key) && !this.#staying.has(key);
  }

  /** By the version that is in force until now, or by the one that comes into force. */
  #isRetained(key: string, server: string): boolean {
    if (this.#standing.units.get(key)?.servers.get(server)?.policy.deletion === 'retain') return true;
    return isRetaining(this.#moving.get(key) ?? this.#staying.get(key));
  }

  /** Lets a unit wait for a person, at the version that is in force. */
  hold(key: string): void {
    if (!this.#sentBack.has(key)) this.#held.add(key);
    this.sendBack(key);
  }

  sendBack(key: string): void {
    this.#sentBack.add(key);
    this.#moving.delete(key);
    const older = this.#standing.units.get(key);
    if (older !== undefined) this.#staying.set(key, older);
  }

  /** Returns what cannot come into force beside the rest; empty when all get along. */
  refusals(): readonly Refusal[] {
    const clashes = this.#claimNames();
    if (clashes.length > 0) return clashes;
    const dangling = this.#danglingDependencies();
    return dangling.length > 0 ? dangling : this.#cycle();
  }

  #claimNames(): Refusal[] {
    const claims = new Map<string, Claim>();
    const refused: Refusal[] = [];
    const holdersFirst = [...this.#moving].sort(([a], [b]) => compareNames(a, b));
    const order = [...this.#staying, ...holdersFirst.filter(([key]) => this.#standing.units.has(key))];
    for (const [key, unit] of [...order, ...holdersFirst.filter(([key]) => !this.#standing.units.has(key))]) {
      for (const name of unit.servers.keys()) {
        const holder = claims.get(name.toLowerCase());
        if (holder === undefined) claims.set(name.toLowerCase(), { key, name });
        else refused.push(...this.#clash({ key, name }, holder));
      }
    }
    this.#claims = claims;
    return uniqueByKey(refused);
  }

  /** The later of two loses, unless it is the one that had the name before, or both are new: then neither may have it. */
  #clash(late: Claim, early: Claim): Refusal[] {
    const losers = this.#hadBefore(late) ? [early] : this.#hadBefore(early) ? [late] : [late, early];
    return losers
      .filter(({ key }) => this.#moving.has(key))
      .flatMap((loser) => this.#refuse(loser.key, nameTaken(loser, loser === late ? early : late)));
  }

  #hadBefore({ key, name }: Claim): boolean {
    return this.#standing.owners.get(name) === key;
  }

  #danglingDependencies(): Refusal[] {
    const suggest = this.#suggestions();
    return [...this.#moving].flatMap(([key, unit]) => {
      const missing = unit.outside.find(({ server }) => this.#ownerOf(server) === undefined);
      if (missing === undefined) return [];
      const { entry, pointer } = missing.origin;
      const problem = problemAt(entry, pointer, {
        code: 'unknown_dependency',
        message: `"${missing.of}" depends on "${missing.server}", which is neither a resource of its template nor a server of any stack`,
        hint: didYouMean(missing.server, unit.keys) ?? suggest(missing.server),
        instances: [unit.name],
      });
      return [{ key, problem }];
    });
  }

  /** Returns a function that suggests a server. A thousand stacks may miss one, and looking for the nearest name is slow. */
  #suggestions(): (missing: string) => string | null {
    const hints = new Map<string, string | null>();
    return (missing) => {
      const known = hints.get(missing);
      if (known !== undefined || hints.size === SUGGESTIONS_MAX) return known ?? null;
      const hint = didYouMean(
        missing,
        [...this.#claims.values()].map(({ name }) => name),
      );
      hints.set(missing, hint);
      return hint;
    };
  }

  /** Every new version that is part of the circle is refused, at the dependency by which the circle leaves it. */
  #cycle(): Refusal[] {
    const starts = [...this.#moving.values()].flatMap((unit) => unit.outside.map(({ of }) => of));
    const cycle = findCycle(starts, (server) => this.#unitOf(server)?.servers.get(server)?.spec.dependsOn ?? []) ?? [];
    return cycle.slice(0, -1).flatMap((server, position) => {
      const unit = this.#unitOf(server);
      const link = unit?.outside.find((one) => one.of === server && one.server === cycle[position + 1]);
      if (unit === undefined || link === undefined || !this.#isNewVersion(unit)) return [];
      const { entry, pointer } = link.origin;
      const problem = problemAt(entry, pointer, { ...circleText(cycle), instances: [unit.name] });
      return [{ key: unitKey(unit), problem }];
    });
  }

  #isNewVersion(unit: Unit): boolean {
    const key = unitKey(unit);
    const before = this.#standing.units.get(key);
    return this.#moving.has(key) && (before === undefined || !isSameVersion(unit, before));
  }

  #ownerOf(server: string): string | undefined {
    const claim = this.#claims.get(server.toLowerCase());
    return claim?.name === server ? claim.key : undefined;
  }

  #unitOf(server: string): Unit | undefined {
    const key = this.#ownerOf(server) ?? '';
    return this.#moving.get(key) ?? this.#staying.get(key);
  }

  #refuse(key: string, text: { readonly code: string; readonly message: string; readonly hint: string }): Refusal[] {
    const unit = this.#moving.get(key);
    if (unit === undefined) return [];
    return [{ key, problem: problemAt(unit.entry, '/parameters', { ...text, instances: [unit.name] }) }];
  }
}

function handOverText(server: string, taker: string) {
  return {
    code: 'hand_over_waits',
    message: `"${server}" is handed over to the instance "${taker}", which cannot come into force`,
    hint: `mend "${taker}" first; until then nothing of either changes`,
  };
}

function protectedText(instance: string, servers: readonly string[]) {
  const some = servers.slice(0, 5).join(', ');
  return {
    code: 'protected_instance',
    message: `the instance "${instance}" is protected, and this would delete ${some}${servers.length > 5 ? ' and others' : ''}`,
    hint: 'set protected: false in a commit of its own first',
    instances: [instance],
  };
}

function nameOfUnit(key: string): string {
  return key.slice('instance/'.length);
}

function nameTaken(loser: Claim, winner: Claim) {
  const other = nameOfUnit(winner.key);
  return {
    code: 'server_name_taken',
    message: `the server name "${loser.name}" is also that of a server of the instance "${other}"`,
    hint: 'server names are unique over all instances, without regard to case: change a parameter that the name is made of',
  };
}

/** In the words of a circle within one stack. */
function circleText(cycle: readonly string[]) {
  return {
    code: 'dependency_cycle',
    message: `dependencies go in a circle: ${printCycle(cycle.slice(0, -1))}`,
    hint: 'remove one of these depends_on',
  };
}

function uniqueByKey(refusals: readonly Refusal[]): Refusal[] {
  return [...new Map(refusals.map((refusal) => [refusal.key, refusal])).values()];
}

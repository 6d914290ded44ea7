// Guards servers that are taken away although a commit which a merge brings from elsewhere protects or retains them: one by
// one, that commit would have kept them. They are held, and a person decides. docs/decisions/0013.

import type { Breathe } from '../base/breathe.ts';
import type { Reusable } from '../derive.ts';
import type { Guard } from '../desired/deletions.ts';
import type { Baseline } from '../desired/desired-state.ts';
import { isProtected, isRetaining, isValidUnit, type Unit } from '../desired/unit.ts';
import type { Commit, Source } from '../repository/source.ts';
import { COMMITS_MAX } from './first-parents.ts';
import { proposeAt } from './read-commit.ts';

const REMEDY = 'approve the deletes, or push a commit that wants these servers again';
const UNREAD = 'servers are taken away, and merges bring more commits than are read, which may protect or retain them';

/** How commits from elsewhere are read. */
interface GuardOptions {
  readonly baseline: Baseline;
  /** Left out: the one that is followed. */
  readonly directory?: string;
  /** Default: by the machine's clock. */
  readonly breathe?: Breathe;
}

/** Of the commits that merges bring from elsewhere, those that count for a step. */
export interface Others {
  readonly from: OtherCommits;
  /** How many of the newest. */
  readonly count: number;
  /** There may be more. */
  readonly isCut: boolean;
}

/** A commit that keeps a server: the newest one that does. */
interface Kept {
  readonly index: number;
  /** The instance that has the server there. */
  readonly instance: string;
  /** The start of a reason. */
  readonly text: string;
}

/** The servers that a step takes away from their instances. */
interface Losses {
  readonly lost: ReadonlySet<string>;
  /** Those that another instance makes, which is not protected, with its name. */
  readonly given: ReadonlyMap<string, string>;
}

/** The commits that merges bring from elsewhere, newest first. Each is read once, as far as it is asked for. */
export class OtherCommits {
  readonly #commits: readonly Commit[];
  readonly #kept = new Map<string, Kept>();
  readonly #protected = new Map<string, Kept>();
  #readCount = 0;
  /** The last one that was read. */
  #known: Reusable | undefined;

  constructor(commits: readonly Commit[]) {
    this.#commits = commits;
  }

  /** All of them. */
  get all(): Others {
    return { from: this, count: this.#commits.length, isCut: false };
  }

  /** Returns the guards by the newest `count`, by server. Reads until each server has one. `merged`: what is derived already. */
  async guards(
    source: Pick<Source, 'snapshot'>,
    { lost, given, count }: Losses & { readonly count: number },
    merged: Reusable,
    { directory, breathe }: GuardOptions,
  ): Promise<ReadonlyMap<string, Guard>> {
    const handedOver = new Set(given.keys());
    const isKnown = (): boolean => lost.isSubsetOf(this.#kept) && handedOver.isSubsetOf(this.#protected);
    for (; this.#readCount < count && !isKnown(); this.#readCount += 1) {
      const { oid } = this.#commits[this.#readCount] as Commit;
      const earlier = this.#known ?? merged;
      const proposed = await proposeAt(source, oid, { earlier, directory, breathe });
      // One that is not followed would have set nothing.
      if (proposed !== undefined) this.#remember(oid, proposed);
    }
    const guards = new Map<string, Guard>();
    const among = (kept: Kept | undefined): Kept | undefined => (kept && kept.index < count ? kept : undefined);
    for (const server of lost) {
      const kept = among(this.#kept.get(server));
      const reason = `${kept?.text}, while servers of it are taken away: ${REMEDY}`;
      if (kept !== undefined)
        guards.set(server, { reason, isProtected: among(this.#protected.get(server)) !== undefined });
    }
    for (const [server, receiver] of given) {
      const kept = among(this.#protected.get(server));
      const reason = `${kept?.text}, while servers of it are given to "${receiver}", which is not: approve that, or protect "${receiver}" too`;
      if (kept !== undefined && kept.instance !== receiver) guards.set(server, { reason, isProtected: true });
    }
    return guards;
  }

  #remember(oid: string, proposed: Reusable): void {
    this.#known = proposed;
    for (const unit of proposed.candidates.values()) {
      if (!isGuarding(unit)) continue;
      const text = `${guardText(unit)} in ${oid}, which comes with a merge`;
      const kept = { index: this.#readCount, instance: unit.name, text };
      for (const known of isProtected(unit) ? [this.#kept, this.#protected] : [this.#kept])
        for (const server of unit.servers.keys()) if (!known.has(server)) known.set(server, kept);
    }
  }
}

/** Returns the guards of servers that a step takes away from their instances, by name. `merged`: what it makes. */
export async function guardedServers(
  source: Pick<Source, 'snapshot'>,
  { from, count, isCut }: Others,
  merged: Reusable,
  options: GuardOptions,
): Promise<ReadonlyMap<string, Guard>> {
  if (count === 0) return new Map();
  const { lost, given } = findLosses(options.baseline, merged);
  if (lost.size + given.size === 0) return new Map();
  // Commits are read only where servers are taken away.
  if (!isCut && count <= COMMITS_MAX) return await from.guards(source, { lost, given, count }, merged, options);
  const reason = `${UNREAD}: ${REMEDY}`;
  return new Map([...lost, ...given.keys()].map((server) => [server, { reason, isProtected: given.has(server) }]));
}

/** Of all servers that were made before, those that their instance does not make in the commit; the versions may be wrong. */
function findLosses({ owners }: Baseline, { candidates }: Reusable): Losses {
  const lost = new Set<string>();
  for (const [server, key] of owners) if (candidates.get(key)?.servers.has(server) !== true) lost.add(server);
  const given = new Map<string, string>();
  for (const unit of lost.size === 0 ? [] : candidates.values()) {
    for (const server of unit.servers.keys())
      if (lost.delete(server) && !isProtected(unit)) given.set(server, unit.name);
  }
  return { lost, given };
}

function isGuarding(unit: Unit): boolean {
  return isValidUnit(unit) && (isProtected(unit) || isRetaining(unit));
}

function guardText(unit: Unit): string {
  return `"${unit.name}" ${isProtected(unit) ? 'is protected' : 'retains its servers'}`;
}

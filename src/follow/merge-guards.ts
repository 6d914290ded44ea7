// Guards servers that are taken away although a commit which a merge brings from elsewhere protects or retains them: one by
// one, that commit would have kept them. They are held, and a person decides. docs/decisions/0075.
import type { Derivation, Reusable } from '../derive.ts';
import type { Baseline } from '../desired/desired-state.ts';
import { isProtected, isRetaining, isValidUnit, type Unit } from '../desired/unit.ts';
import { orContentError } from '../model/snapshot.ts';
import type { RunInSlices } from '../slices.ts';
import type { Commit, Source } from '../source/source.ts';
import { proposeAt } from './restore.ts';

/** How many commits are read, and only where servers are taken away. */
const COMMITS_MAX = 1_000;

const REMEDY = 'approve the deletes, or push a commit that wants these servers again';
const UNREAD = 'servers are taken away, and merges bring more commits than are read, which may protect or retain them';

/** How commits from elsewhere are read. */
interface GuardOptions {
  readonly baseline: Baseline;
  /** Left out: the one that is followed. */
  readonly directory?: string;
  /** Left out: slices by the machine's clock. */
  readonly inSlices?: RunInSlices;
}

/** Of the commits that merges bring from elsewhere, those that count for a step. */
export interface Others {
  readonly from: OtherCommits;
  /** How many of the newest. */
  readonly count: number;
  /** There may be more. */
  readonly isCut: boolean;
}

/** Why a commit keeps a server. */
interface Kept {
  /** Of the newest commit that does. */
  readonly index: number;
  readonly reason: string;
}

/** The commits that merges bring from elsewhere, newest first. Each is read once, as far as it is asked for. */
export class OtherCommits {
  readonly #commits: readonly Commit[];
  readonly #kept = new Map<string, Kept>();
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

  /** Returns why the newest `count` keep some of these servers, by name. Reads until each has a reason. `merged`: what is derived already. */
  async reasons(
    source: Pick<Source, 'snapshot'>,
    { servers, count }: { readonly servers: ReadonlySet<string>; readonly count: number },
    merged: Reusable,
    { directory, inSlices }: GuardOptions,
  ): Promise<ReadonlyMap<string, string>> {
    for (; this.#readCount < count && !servers.isSubsetOf(this.#kept); this.#readCount += 1) {
      const { oid } = this.#commits[this.#readCount] as Commit;
      const earlier = this.#known ?? merged;
      const proposed = await orContentError(proposeAt(source, oid, { earlier, directory, inSlices }));
      // One that is not followed would have set nothing.
      if (proposed !== undefined && !(proposed instanceof Error)) this.#note(oid, proposed);
    }
    const reasons = new Map<string, string>();
    for (const server of servers) {
      const kept = this.#kept.get(server);
      if (kept !== undefined && kept.index < count) reasons.set(server, kept.reason);
    }
    return reasons;
  }

  #note(oid: string, proposed: Reusable): void {
    this.#known = proposed;
    for (const unit of proposed.candidates.values()) {
      if (!isGuarding(unit)) continue;
      const reason = `${guardText(unit)} in ${oid}, which comes with a merge, while servers of it are taken away: ${REMEDY}`;
      for (const server of unit.servers.keys())
        if (!this.#kept.has(server)) this.#kept.set(server, { index: this.#readCount, reason });
    }
  }
}

/** Returns the derivation of a step; where commits from elsewhere count for it, one whose judgement holds what they would have kept. */
export async function withMergeGuards(
  source: Pick<Source, 'snapshot'>,
  others: Others,
  derivation: Derivation,
  options: GuardOptions,
): Promise<Derivation> {
  if (!derivation.isFollowed) return derivation;
  const guarded = await guardedServers(source, others, derivation.desired, options);
  if (guarded.size === 0) return derivation;
  const { judge } = derivation;
  return { ...derivation, judge: (safety) => judge({ ...safety, deletions: { ...safety.deletions, guarded } }) };
}

/** Returns why servers are guarded that a step takes away, by name. `merged`: what it makes. */
export async function guardedServers(
  source: Pick<Source, 'snapshot'>,
  { from, count, isCut }: Others,
  merged: Reusable,
  options: GuardOptions,
): Promise<ReadonlyMap<string, string>> {
  const servers = count === 0 ? NONE : lostServers(options.baseline, merged);
  if (servers.size === 0) return new Map();
  if (isCut || count > COMMITS_MAX) return new Map([...servers].map((server) => [server, `${UNREAD}: ${REMEDY}`]));
  return await from.reasons(source, { servers, count }, merged, options);
}

const NONE: ReadonlySet<string> = new Set();

/** Returns the servers that were made before, and that no instance of the commit makes, valid or not. */
function lostServers({ owners }: Baseline, { candidates }: Reusable): ReadonlySet<string> {
  const lost = new Set<string>();
  for (const [server, key] of owners) if (candidates.get(key)?.servers.has(server) !== true) lost.add(server);
  if (lost.size === 0) return lost;
  for (const { servers } of candidates.values()) for (const name of servers.keys()) lost.delete(name);
  return lost;
}

function isGuarding(unit: Unit): boolean {
  return isValidUnit(unit) && (isProtected(unit) || isRetaining(unit));
}

function guardText(unit: Unit): string {
  return `"${unit.name}" ${isProtected(unit) ? 'is protected' : 'retains its servers'}`;
}

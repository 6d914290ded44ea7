// Guards the servers that a merge takes away although a commit that it brings from elsewhere protects or retains them: one by
// one, that commit would have kept them. They are held, and a person decides. docs/decisions/0075.
import type { Derivation, Reusable } from '../derive.ts';
import type { Baseline } from '../desired/desired-state.ts';
import { isProtected, isRetaining, isValidUnit, type Unit } from '../desired/unit.ts';
import { orContentError } from '../model/snapshot.ts';
import type { RunInSlices } from '../slices.ts';
import type { Source } from '../source/source.ts';
import { proposeAt } from './restore.ts';
import type { CommitStep } from './steps.ts';

/** How many commits of one merge are read, and only where it takes servers away. */
const COMMITS_MAX = 1_000;

const REMEDY = 'approve the deletes, or push a commit that wants these servers again';

/** How the commits of a merge are read. */
interface GuardOptions {
  readonly baseline: Baseline;
  /** Left out: the one that is followed. */
  readonly directory?: string;
  /** Left out: slices by the machine's clock. */
  readonly inSlices?: RunInSlices;
}

/** Returns the derivation of a step; of a merge, one whose judgement holds what a commit that it brings would have kept. */
export async function withMergeGuards(
  source: Pick<Source, 'snapshot'>,
  step: CommitStep,
  derivation: Derivation,
  options: GuardOptions,
): Promise<Derivation> {
  if (!derivation.isFollowed) return derivation;
  const guarded = await guardedServers(source, step, derivation.desired, options);
  if (guarded.size === 0) return derivation;
  const { judge } = derivation;
  return { ...derivation, judge: (safety) => judge({ ...safety, deletions: { ...safety.deletions, guarded } }) };
}

/**
 * Returns why servers are guarded that a merge takes away, by name. Newest commits are read first, until each server has a
 * reason. `merged`: what the merge makes.
 */
export async function guardedServers(
  source: Pick<Source, 'snapshot'>,
  { others, isCut }: Pick<CommitStep, 'others' | 'isCut'>,
  merged: Reusable,
  { baseline, directory, inSlices }: GuardOptions,
): Promise<ReadonlyMap<string, string>> {
  const guarded = new Map<string, string>();
  const lost = others.length === 0 ? NONE : lostServers(baseline, merged);
  if (lost.size === 0) return guarded;
  if (isCut || others.length > COMMITS_MAX) {
    const unread =
      'a merge takes servers away, and brings more commits than are read, which may protect or retain them';
    return new Map([...lost].map((server) => [server, `${unread}: ${REMEDY}`]));
  }
  let known = merged;
  for (const { oid } of others) {
    const proposed = await orContentError(proposeAt(source, oid, { earlier: known, directory, inSlices }));
    // One that is not followed would have set nothing.
    if (proposed === undefined || proposed instanceof Error) continue;
    known = proposed;
    for (const unit of [...proposed.candidates.values()].filter(isGuarding)) {
      const reason = `${guardText(unit)} in ${oid}, which comes with a merge that takes servers of it away: ${REMEDY}`;
      for (const server of unit.servers.keys()) if (lost.has(server)) guarded.set(server, reason);
    }
    if (guarded.size === lost.size) break;
  }
  return guarded;
}

const NONE: ReadonlySet<string> = new Set();

/** Returns the servers that were made before, and that no instance of the commit makes, valid or not. */
function lostServers({ owners }: Baseline, { candidates }: Reusable): ReadonlySet<string> {
  const lost = new Set(owners.keys());
  for (const { servers } of candidates.values()) for (const name of servers.keys()) lost.delete(name);
  return lost;
}

function isGuarding(unit: Unit): boolean {
  return isValidUnit(unit) && (isProtected(unit) || isRetaining(unit));
}

function guardText(unit: Unit): string {
  return `"${unit.name}" ${isProtected(unit) ? 'is protected' : 'retains its servers'}`;
}

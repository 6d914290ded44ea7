// Collects the facts that decide which deletes a commit may bring: budget, approvals, trailers, and lifted protection.
import type { Safety } from '../desired/admit.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import { liftsIn } from '../desired/lifts.ts';
import { isProtected, isValidUnit, type Unit } from '../desired/unit.ts';
import { needsNoAction } from '../machine/difference.ts';
import { isMade } from '../machine/existence.ts';
import {
  type DeleteBudget,
  recentRemovals,
  removalName,
  removalsMax,
  removalsUnderWay,
  serverCount,
} from '../machine/removals.ts';
import type { ApprovalRow, ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { RunInSlices } from '../slices.ts';
import type { Commit, Source } from '../source/source.ts';
import { isApprovalOpen } from './hold-rows.ts';
import { deriveAt } from './restore.ts';

/** How many of the commits that come at once are read. */
export const COMMITS_MAX = 1_000;
/** How many of them are read to find out whether one lifts a protection; a lift before these does not count. */
const PROTECTION_COMMITS_MAX = 100;

const TRAILER = /^Treeline-Approve-Deletes:[ \t]*(\d{1,6})[ \t]*$/gim;

/**
 * Returns the facts as the rows tell them. `approvedCount` comes from the commits that are being followed. Protection is
 * lifted where that is remembered with what is held.
 */
export function safetyOf(
  ledger: Ledger,
  {
    budget,
    now,
    approvedCount = 0,
  }: { readonly budget: DeleteBudget; readonly now: number; readonly approvedCount?: number },
): Safety {
  const recent = recentRemovals(ledger, now);
  return {
    unprotected: liftsIn(ledger.list('held')),
    recordedBytes: ledger.rowBytes,
    deletions: {
      limit: removalsMax(budget, serverCount(ledger, now)),
      recent: recent.size,
      isRecent: (removal) => recent.has(removalName(removal)),
      underWay: removalsUnderWay(ledger),
      goesOn: (server, spec) => goesOn(ledger.server(server), spec),
      incarnationOf: (server) => madeIncarnation(ledger.server(server)),
      isApproved: (digest) => isApproved(ledger.read('approval', digest), now),
      heldBefore: ledger.list('held'),
      approvedCount,
    },
  };
}

/** Returns the facts as if what is held under a digest were approved. */
export function withApproval(safety: Safety, approved: string): Safety {
  const { deletions } = safety;
  const isApproved = (digest: string): boolean => digest === approved || deletions.isApproved(digest);
  return { ...safety, deletions: { ...deletions, isApproved } };
}

/** Returns the facts as if nobody had approved anything. */
export function withoutApprovals(safety: Safety): Safety {
  return { ...safety, deletions: { ...safety.deletions, isApproved: () => false } };
}

/** Activating a commit clears rows, so an approval that is over may still be there. */
function isApproved(approval: ApprovalRow | undefined, now: number): boolean {
  return approval !== undefined && isApprovalOpen(approval, now);
}

/** Returns the incarnation of a made server; undefined also where an approved delete of it runs already. */
function madeIncarnation(row: ServerRow | undefined): number | undefined {
  return row !== undefined && isMade(row) && row.action?.isApproved !== true ? row.incarnation : undefined;
}

/** A delete ends where the server is wanted again, a replacement where something else is wanted. */
function goesOn(row: ServerRow | undefined, spec: Spec | undefined): boolean {
  const wanted = row?.wanted ?? undefined;
  return wanted === undefined || spec === undefined ? wanted === spec : needsNoAction(spec, wanted);
}

/** Returns the largest number of deletes that a trailer of one of the commits approves; 0 without one. */
export function approvedCountOf(commits: readonly Commit[]): number {
  const numbers = commits.flatMap(({ message }) =>
    [...trailersOf(message).matchAll(TRAILER)].map(([, number]) => Number(number)),
  );
  return Math.max(0, ...numbers);
}

interface Lifting {
  /** The active desired state. */
  readonly desired: DesiredState;
  /** Those that come with the newest commit, that one first. */
  readonly commits: readonly Commit[];
  /** Keys of units whose protection was lifted before. */
  readonly lifted: ReadonlySet<string>;
  readonly inSlices?: RunInSlices;
}

/**
 * Returns the keys of protected units whose protection is lifted before the newest commit. Several commits may come at
 * once; those of the branch itself count as if they had come one by one, and what a merge brings from elsewhere does not.
 */
export async function liftedProtection(
  source: Pick<Source, 'snapshot'>,
  { desired, commits, lifted: before, inSlices }: Lifting,
): Promise<ReadonlySet<string>> {
  const lifted = new Set(before);
  let earlier = desired;
  const line = firstParentLine(commits, desired.commit).slice(1, PROTECTION_COMMITS_MAX);
  for (const { oid } of line.reverse()) {
    const derivation = await deriveAt(source, oid, { baseline: desired, earlier, isAccepted: true, inSlices });
    if (!derivation.isFollowed) continue;
    earlier = derivation.desired;
    for (const [key, unit] of derivation.desired.candidates) {
      if (!isValidUnit(unit) || !isWhole(unit, desired.units.get(key))) continue;
      if (isProtected(unit)) lifted.delete(key);
      else lifted.add(key);
    }
  }
  return lifted;
}

/** Returns whether a version of an instance makes every active server of it. */
function isWhole({ type, servers }: Unit, active: Unit | undefined): boolean {
  return (
    type === 'stack-instance' && active !== undefined && [...active.servers.keys()].every((name) => servers.has(name))
  );
}

/**
 * Returns the commits of the branch itself, newest first: the first parents of the newest one, as long as they come after
 * the followed one. The others are those that merges bring.
 */
function firstParentLine(commits: readonly Commit[], followed: string): readonly Commit[] {
  const children = new Map<string, string[]>();
  for (const { oid, parents } of commits) {
    for (const parent of parents) children.set(parent, [...(children.get(parent) ?? []), oid]);
  }
  const after = new Set(children.get(followed));
  // Grows while it is walked: a Set hands out members in the order in which they joined.
  for (const commit of after) for (const child of children.get(commit) ?? []) after.add(child);
  const byId = new Map(commits.map((commit) => [commit.oid, commit]));
  const line: Commit[] = [];
  let next = commits[0];
  while (next !== undefined && after.has(next.oid)) {
    line.push(next);
    next = byId.get(next.parents[0] ?? '');
  }
  return line;
}

/** The last paragraph of a message, where git keeps trailers; a message of one paragraph has none. Web pages send `\r\n`. */
function trailersOf(message: string): string {
  const paragraphs = message.trimEnd().split(/\n[ \t\r]*\n/);
  return paragraphs.length > 1 ? (paragraphs.at(-1) ?? '') : '';
}

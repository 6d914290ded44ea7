// Collects the facts that decide which deletes a commit may cause: budget, approvals and trailers.
import type { Safety } from '../desired/admit.ts';
import { isMade, wantsTheSame } from '../machine/existence.ts';
import { recentRemovals, removalName, removalsMax, removalsUnderWay, serverCount } from '../machine/removals.ts';
import type { ApprovalRow, ServerRow } from '../model/rows.ts';
import type { DeleteBudget } from '../model/settings.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { Commit } from '../repository/source.ts';
import { isApprovalOpen } from './hold-rows.ts';

const TRAILER = /^Treeline-Approve-Deletes:[ \t]*(\d{1,6})[ \t]*$/gim;

/**
 * Returns the facts from the rows. Use them in an exclusive section of the CommitGate: otherwise an approval during the
 * judgement could be used up although the instance stays held. `approvedCount` is from the commits to follow.
 */
export function readSafety(
  ledger: Pick<Ledger, 'read' | 'list' | 'server' | 'index'>,
  {
    budget,
    now,
    approvedCount = 0,
  }: { readonly budget: DeleteBudget; readonly now: number; readonly approvedCount?: number },
): Safety {
  const recent = recentRemovals(ledger, now);
  return {
    unwanted: new Set(ledger.index.unwanted()),
    deletions: {
      limit: removalsMax(budget, serverCount(ledger, now)),
      recent: recent.size,
      isRecent: (removal) => recent.has(removalName(removal)),
      underWay: removalsUnderWay(ledger),
      isContinued: (server, spec) => wantsTheSame(spec, ledger.server(server)?.wanted),
      incarnationOf: (server) => madeIncarnation(ledger.server(server)),
      isApproved: (digest) => isApproved(ledger.read('approval', digest), now),
      heldBefore: ledger.list('held'),
      approvedCount,
      isRecovering: ledger.list('recovery').size > 0,
    },
  };
}

/** Returns the facts without approvals. */
export function withoutApprovals(safety: Safety): Safety {
  return { ...safety, deletions: { ...safety.deletions, isApproved: () => false } };
}

/** Only an activation removes rows, so there may be rows of expired approvals. */
function isApproved(approval: ApprovalRow | undefined, now: number): boolean {
  return approval !== undefined && isApprovalOpen(approval, now);
}

/** Returns the incarnation of a created server; undefined if there is none, or if an approved delete of it runs. */
function madeIncarnation(row: ServerRow | undefined): number | undefined {
  return row !== undefined && isMade(row) && row.action?.isApproved !== true ? row.incarnation : undefined;
}

/** Returns the largest number in a trailer of the commits; 0 without one. */
export function approvedCountOf(commits: readonly Commit[]): number {
  const numbers = commits.flatMap(({ message }) =>
    [...trailersOf(message).matchAll(TRAILER)].map(([, number]) => Number(number)),
  );
  return Math.max(0, ...numbers);
}

/**
 * Returns the last paragraph of a message, where git keeps trailers; '' for a message of one paragraph. Web pages send
 * `\r\n`.
 */
function trailersOf(message: string): string {
  const paragraphs = message.trimEnd().split(/\n[ \t\r]*\n/);
  return paragraphs.length > 1 ? (paragraphs.at(-1) ?? '') : '';
}

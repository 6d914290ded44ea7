// Collects the facts that decide which deletes a commit may bring: budget, approvals and trailers.
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
 * Returns the facts by the rows. They are to be used in an exclusive section of the CommitGate: an approval that came
 * during a judgement would be used up for an instance that stays held. `approvedCount` comes from the commits that are
 * being followed.
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
    going: new Set(ledger.index.unwanted()),
    deletions: {
      limit: removalsMax(budget, serverCount(ledger, now)),
      recent: recent.size,
      isRecent: (removal) => recent.has(removalName(removal)),
      underWay: removalsUnderWay(ledger),
      goesOn: (server, spec) => wantsTheSame(spec, ledger.server(server)?.wanted),
      incarnationOf: (server) => madeIncarnation(ledger.server(server)),
      isApproved: (digest) => isApproved(ledger.read('approval', digest), now),
      heldBefore: ledger.list('held'),
      approvedCount,
      isRecovering: ledger.list('recovery').size > 0,
    },
  };
}

/** Returns the facts as if nothing were approved. */
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

/** Returns the largest number of deletes that a trailer of one of the commits approves; 0 without one. */
export function approvedCountOf(commits: readonly Commit[]): number {
  const numbers = commits.flatMap(({ message }) =>
    [...trailersOf(message).matchAll(TRAILER)].map(([, number]) => Number(number)),
  );
  return Math.max(0, ...numbers);
}

/**
 * The last paragraph of a message, where git keeps trailers; a message of one paragraph has none. Web pages send
 * `\r\n`.
 */
function trailersOf(message: string): string {
  const paragraphs = message.trimEnd().split(/\n[ \t\r]*\n/);
  return paragraphs.length > 1 ? (paragraphs.at(-1) ?? '') : '';
}

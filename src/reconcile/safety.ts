// What has a say in which deletes a commit may bring: budget, approvals, trailers, and protection that was lifted before.
import type { Safety } from '../estate/admit.ts';
import type { Estate } from '../estate/estate.ts';
import { isSound } from '../estate/unit.ts';
import type { ServerRow } from '../model/recorded.ts';
import type { Spec } from '../model/spec.ts';
import { isApplied } from '../plan/difference.ts';
import type { DeleteBudget } from '../settings.ts';
import type { Commit, Source } from '../source/source.ts';
import type { Ledger } from './ledger.ts';
import { recentRemovals, removalsMax, removalsUnderWay } from './removals.ts';
import { deriveAt } from './restore.ts';

/** How many of the commits that come at once are looked at. */
export const COMMITS_MAX = 1_000;
const PROTECTION_COMMITS_MAX = 100;

const TRAILER = /^Treeline-Approve-Deletes:[ \t]*(\d{1,6})[ \t]*$/gim;

/** Returns the facts as the rows tell them. `approvedCount` comes from the commits that are being taken. */
export function safetyOf(
  ledger: Ledger,
  {
    budget,
    now,
    approvedCount = 0,
  }: { readonly budget: DeleteBudget; readonly now: number; readonly approvedCount?: number },
): Safety {
  return {
    unprotected: new Set(),
    deletions: {
      limit: removalsMax(budget, ledger.list('server').size),
      recent: recentRemovals(ledger, now),
      underWay: removalsUnderWay(ledger),
      goesOn: (server, spec) => goesOn(ledger.server(server), spec),
      incarnationOf: (server) => ledger.server(server)?.incarnation,
      isApproved: (digest) => ledger.read('approval', digest) !== undefined,
      heldBefore: new Map([...ledger.list('held')].map(([instance, { digest }]) => [instance, digest])),
      approvedCount,
    },
  };
}

/** A delete ends where the server is wanted again, a replacement where something else is wanted. */
function goesOn(row: ServerRow | undefined, spec: Spec | undefined): boolean {
  const wanted = row?.wanted ?? undefined;
  return wanted === undefined || spec === undefined ? wanted === spec : isApplied(spec, wanted);
}

/** Returns the largest number of deletes that a trailer of one of the commits approves; 0 without one. */
export function approvedCountOf(commits: readonly Commit[]): number {
  const numbers = commits.flatMap(({ message }) =>
    [...trailersOf(message).matchAll(TRAILER)].map(([, number]) => Number(number)),
  );
  return Math.max(0, ...numbers);
}

/**
 * Returns the keys of protected units that one of the commits, before the last, sets free: several commits may come at
 * once, and an earlier one of them counts.
 */
export async function liftedProtection(
  source: Source,
  estate: Estate,
  commits: readonly Commit[],
): Promise<ReadonlySet<string>> {
  const lifted = new Set<string>();
  let earlier = estate;
  for (const { commit } of commits.slice(1, PROTECTION_COMMITS_MAX).reverse()) {
    const derivation = await deriveAt(source, commit, { standing: estate, earlier, isAccepted: true });
    if (!derivation.isTaken) continue;
    earlier = derivation.estate;
    for (const [key, unit] of derivation.estate.candidates) {
      const { object } = unit.entry;
      if (isSound(unit) && unit.kind === 'instance' && object !== null && object.protected !== true) lifted.add(key);
    }
  }
  return lifted;
}

/** The last paragraph of a message, where git keeps trailers; a message of one paragraph has none. Web pages send `\r\n`. */
function trailersOf(message: string): string {
  const paragraphs = message.trimEnd().split(/\n[ \t\r]*\n/);
  return paragraphs.length > 1 ? (paragraphs.at(-1) ?? '') : '';
}

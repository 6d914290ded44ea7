// How many servers went, or are to go, without anybody's approval: what the delete budget counts.
import type { Removal } from '../estate/deletions.ts';
import type { DeleteBudget } from '../settings.ts';
import { REMOVAL_MS } from './hold-rows.ts';
import type { Ledger } from './ledger.ts';

type Rows = Pick<Ledger, 'server' | 'index' | 'list'>;

/** Returns how many deletes and replacements need no approval in an estate of so many servers. */
export function removalsMax({ percent, least, most }: DeleteBudget, servers: number): number {
  return Math.min(most, Math.max(least, Math.floor((servers * percent) / 100)));
}

/** Returns those of the last hour. */
export function recentRemovals(ledger: Rows, now: number): number {
  const times = [...ledger.list('removal').values()].map(({ time }) => Date.parse(time));
  return times.filter((time) => time > now - REMOVAL_MS).length;
}

/** Returns those that are wanted and not done, by instance. */
export function removalsUnderWay(ledger: Rows): ReadonlyMap<string, readonly Removal[]> {
  const underWay = new Map<string, Removal[]>();
  for (const [instance, servers] of ledger.index.openRemovals()) {
    const removals = [...servers].map((server) => ({ server, incarnation: ledger.server(server)?.incarnation ?? 0 }));
    underWay.set(instance, removals);
  }
  return underWay;
}

/** Returns how many count now. */
export function openRemovals(ledger: Rows, now: number): number {
  const underWay = [...ledger.index.openRemovals().values()].reduce((sum, { size }) => sum + size, 0);
  return underWay + recentRemovals(ledger, now);
}

// How many servers went, or are to go, without anybody's approval: what the delete budget counts.

import type { Removal } from '../desired/deletions.ts';
import { isRemovalKept, removalName, serverOf } from '../follow/hold-rows.ts';
import { momentOf } from '../model/moment.ts';
import type { ServerRow } from '../model/rows.ts';
import type { DeleteBudget } from '../settings.ts';
import type { Change } from '../store/store.ts';
import type { Ledger } from './ledger.ts';

type Rows = Pick<Ledger, 'server' | 'index' | 'list' | 'read'>;

/** How many may go from any but a small desired state where the operator names no lower bound. */
const LEAST_MAX = 5;

/** Returns how many deletes and replacements need no approval in a desired state of so many servers. */
export function removalsMax({ percent, least, most }: DeleteBudget, servers: number): number {
  return Math.min(most, Math.max(least ?? leastOf(servers), Math.floor((servers * percent) / 100)));
}

/** The lower bound where the operator names none: a small desired state must not lose most of its servers unasked. */
function leastOf(servers: number): number {
  return Math.min(LEAST_MAX, Math.max(1, Math.floor(servers / 3)));
}

/**
 * Returns how many servers the share is taken of: those recorded, and those that went within the hour. So the limit stays
 * what it was while the deletes that it has let pass are carried out.
 */
export function serverCount(ledger: Rows, now: number): number {
  const gone = [...recentRemovals(ledger, now)].map(serverOf).filter((server) => ledger.server(server) === undefined);
  return ledger.list('server').size + new Set(gone).size;
}

/** Returns the names of the removal rows that count: of the last hour, or of deletes that still run. */
export function recentRemovals(ledger: Rows, now: number): ReadonlySet<string> {
  const rowOf = (server: string): ServerRow | undefined => ledger.server(server);
  const kept = [...ledger.list('removal')].filter((removal) => isRemovalKept(removal, { rowOf, now }));
  return new Set(kept.map(([name]) => name));
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

/** Returns how many count now; one that has begun and is not over counts once. */
export function openRemovals(ledger: Rows, now: number): number {
  const underWay = ledger.index.openRemovals();
  const isUnderWay = (name: string): boolean => {
    const server = serverOf(name);
    const row = ledger.server(server);
    if (row === undefined || underWay.get(row.instance)?.has(server) !== true) return false;
    return name === removalName({ server, incarnation: row.incarnation });
  };
  const others = [...recentRemovals(ledger, now)].filter((name) => !isUnderWay(name));
  return [...underWay.values()].reduce((sum, { size }) => sum + size, others.length);
}

interface Passed {
  readonly server: string;
  /** Null: it is forgotten. */
  readonly after: ServerRow | null;
  readonly row: ServerRow;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Returns what a pass that leads from `row` to `after` changes about what counts: a delete that nobody approved counts from
 * when it begins, whatever is wanted later, and for an hour from when it ends.
 */
export function removalChanges(ledger: Rows, { server, row, after, now }: Passed): Change[] {
  const isBegun =
    after?.action?.operation === 'delete' && after.action !== row.action && after.applied !== null && !after.approved;
  const isOver = row.action?.operation === 'delete' && after?.incarnation !== row.incarnation;
  if (!isBegun && !isOver) return [];
  const name = removalName({ server, incarnation: row.incarnation });
  const expected = ledger.read('removal', name);
  // Without a row it was approved when it began, or there was nothing to delete.
  if (!isBegun && expected === undefined) return [];
  return [{ kind: 'removal', name, value: { time: momentOf(now) }, expected }];
}

// Counts the deletes and replacements that no operator approved, for the delete budget. Pure.
// docs/concepts.md, the delete budget; docs/decisions/0010.

import { toRfc3339 } from '../base/wording.ts';
import type { Change, RemovalRow, ServerRow } from '../model/rows.ts';
import type { DeleteBudget } from '../model/settings.ts';
import { isMade } from './existence.ts';

/** A server to be removed, and its incarnation: an approval is valid for this incarnation only. */
export interface Removal {
  readonly server: string;
  readonly incarnation: number;
}

/** How long a delete without approval counts against the budget. */
export const REMOVAL_MS = 60 * 60 * 1000;

/** The recorded rows that the counts read. */
interface RemovalRows {
  server(name: string): ServerRow | undefined;
  read(kind: 'removal', name: string): RemovalRow | undefined;
  list(kind: 'removal'): ReadonlyMap<string, RemovalRow>;
  readonly index: {
    /** The number of created servers; see isMade. */
    readonly madeCount: number;
    /** Names of the servers that are to be deleted or replaced without approval, by instance. */
    openRemovals(): ReadonlyMap<string, ReadonlySet<string>>;
  };
}

/** The maximum of the default lower bound. */
const LEAST_MAX = 5;

/** Returns how many deletes and replacements need no approval if there are `servers` servers. */
export function removalsMax({ percent, least, most }: DeleteBudget, servers: number): number {
  return Math.min(most, Math.max(least ?? leastOf(servers), Math.floor((servers * percent) / 100)));
}

/** The default lower bound: a small desired state must not lose most of its servers without approval. */
function leastOf(servers: number): number {
  return Math.min(LEAST_MAX, Math.max(1, Math.floor(servers / 3)));
}

/**
 * Returns the number of servers for the percentage of the budget: created servers, and those removed within the last
 * hour. So the limit does not shrink during permitted deletes, nor grow by wanted servers that may never be created.
 */
export function serverCount(rows: RemovalRows, now: number): number {
  const isThere = (row: ServerRow | undefined): boolean => row !== undefined && isMade(row);
  const gone = [...recentRemovals(rows, now)].map(serverOf).filter((server) => !isThere(rows.server(server)));
  return rows.index.madeCount + new Set(gone).size;
}

/** Returns the names of the removal rows that count: of the last hour, or of running deletes. */
export function recentRemovals(rows: RemovalRows, now: number): ReadonlySet<string> {
  const rowOf = (server: string): ServerRow | undefined => rows.server(server);
  const kept = [...rows.list('removal')].filter((removal) => isRemovalKept(removal, { rowOf, now }));
  return new Set(kept.map(([name]) => name));
}

/** Returns the removals that are wanted and not finished, by instance. */
export function removalsUnderWay(rows: RemovalRows): ReadonlyMap<string, readonly Removal[]> {
  const underWay = new Map<string, Removal[]>();
  for (const [instance, servers] of rows.index.openRemovals()) {
    const removals = [...servers].map((server) => ({ server, incarnation: rows.server(server)?.incarnation ?? 0 }));
    underWay.set(instance, removals);
  }
  return underWay;
}

/** Returns how many removals count now. A removal in progress counts once. */
export function openRemovals(rows: RemovalRows, now: number): number {
  const underWay = rows.index.openRemovals();
  const isUnderWay = (name: string): boolean => {
    const server = serverOf(name);
    const row = rows.server(server);
    if (row === undefined || underWay.get(row.instance)?.has(server) !== true) return false;
    return name === removalName({ server, incarnation: row.incarnation });
  };
  const others = [...recentRemovals(rows, now)].filter((name) => !isUnderWay(name));
  return [...underWay.values()].reduce((sum, { size }) => sum + size, others.length);
}

interface Passed {
  readonly server: string;
  /** Null: the row is removed. */
  readonly after: ServerRow | null;
  readonly row: ServerRow;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Returns the changes of removal rows for a pass from `row` to `after`. A delete without approval counts from its start
 * until one hour after its end, even if the server is wanted again later.
 */
export function removalChanges(rows: RemovalRows, { server, row, after, now }: Passed): Change[] {
  const isBegun =
    after?.action?.operation === 'delete' && after.action !== row.action && after.applied !== null && !after.approved;
  const isOver = row.action?.operation === 'delete' && after?.incarnation !== row.incarnation;
  if (!isBegun && !isOver) return [];
  const name = removalName({ server, incarnation: row.incarnation });
  const expected = rows.read('removal', name);
  // If there is no removal row, the delete was approved when it began, or there was nothing to delete.
  if (!isBegun && expected === undefined) return [];
  return [{ kind: 'removal', name, value: { time: toRfc3339(now) }, expected }];
}

interface Deletes {
  readonly rowOf: (server: string) => ServerRow | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Returns the deletes that count against the budget. A delete that was approved after its start does not. */
export function keptRemovals(
  recorded: ReadonlyMap<string, RemovalRow>,
  deletes: Deletes,
): ReadonlyMap<string, RemovalRow> {
  return new Map([...recorded].filter((removal) => isRemovalKept(removal, deletes)));
}

/** Returns true if a delete runs, or began or ended within the last hour, and was not approved since. */
function isRemovalKept([name, { time }]: readonly [string, RemovalRow], { rowOf, now }: Deletes): boolean {
  const server = serverOf(name);
  const row = rowOf(server);
  const isReplacing = row !== undefined && name === removalName({ server, incarnation: row.incarnation });
  if (isReplacing && row.approved) return false;
  if (isReplacing && row.action?.operation === 'delete') return true;
  return Date.parse(time) > now - REMOVAL_MS;
}

/** Returns the server that a removal row is about. */
function serverOf(removal: string): string {
  return removal.slice(0, removal.lastIndexOf('/'));
}

/** Returns the name of a removal row. */
export function removalName({ server, incarnation }: Removal): string {
  return `${server}/${incarnation}`;
}

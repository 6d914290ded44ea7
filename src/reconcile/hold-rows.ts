// The rows that remember what is held and what was approved. Pure; what is held is judged in estate/deletions.ts.
import { momentOf } from '../clock.ts';
import type { Estate } from '../estate/estate.ts';
import { failuresDigest, failuresMax } from '../machine/failure-limit.ts';
import type { ApprovalRow, HeldRow, RemovalRow, RolloutRow, ServerRow } from '../model/recorded.ts';
import { isApplied } from '../plan/difference.ts';

/** How long a delete that nobody approved counts against the budget. */
export const REMOVAL_MS = 60 * 60 * 1000;

/** Returns the held instances by name; one that was held for the same before keeps its time. */
export function heldRows(
  { held }: Pick<Estate, 'held'>,
  recorded: ReadonlyMap<string, HeldRow>,
  now: number,
): ReadonlyMap<string, HeldRow> {
  const rows = new Map<string, HeldRow>();
  for (const [instance, { digest, removals, reason }] of held) {
    const known = recorded.get(instance);
    const servers = removals.map(({ server }) => server);
    rows.set(instance, known?.digest === digest ? known : { digest, servers, reason, since: momentOf(now) });
  }
  return rows;
}

/** How long an administrator's request to delete waits for the commit that it becomes. */
const REQUEST_MS = 15 * 60 * 1000;

/**
 * Returns the approvals that go on after a commit was taken: those of failing updates, as long as these are. Approved
 * deletes are marked in the servers' own rows, and an approved commit is taken by now or was followed by another.
 */
export function keptApprovals(
  recorded: ReadonlyMap<string, ApprovalRow>,
  { rollouts, now }: { readonly rollouts: ReadonlyMap<string, RolloutRow>; readonly now: number },
): ReadonlyMap<string, ApprovalRow> {
  const digests = new Set([...rollouts.keys()].map(failuresDigest));
  const isKept = (digest: string, { what, time }: ApprovalRow): boolean => {
    if (what === 'requested delete') return Date.parse(time) > now - REQUEST_MS;
    return what === 'failures' && digests.has(digest);
  };
  return new Map([...recorded].filter(([digest, approval]) => isKept(digest, approval)));
}

/** Returns the deletes of the last hour. */
export function keptRemovals(recorded: ReadonlyMap<string, RemovalRow>, now: number): ReadonlyMap<string, RemovalRow> {
  return new Map([...recorded].filter(([, { time }]) => Date.parse(time) > now - REMOVAL_MS));
}

/** Returns how many updates each commit wanted, for the commits that are not through with them. `rows` are as they will be. */
export function rolloutRows(
  recorded: ReadonlyMap<string, RolloutRow>,
  rows: Iterable<ServerRow>,
  commit: string,
): ReadonlyMap<string, RolloutRow> {
  const open = new Map<string, number>();
  for (const row of rows) {
    if (isUpdateOpen(row)) open.set(row.commit, (open.get(row.commit) ?? 0) + 1);
  }
  const rollouts = new Map([...recorded].filter(([name]) => open.has(name)));
  const updates = open.get(commit);
  // Where the first failures that would hold the rest are all there is, nothing has to be remembered.
  const hasRest = updates !== undefined && updates > failuresMax({ updates });
  if (hasRest && !rollouts.has(commit)) rollouts.set(commit, { updates });
  return rollouts;
}

function isUpdateOpen({ wanted, applied, touched, replacing }: ServerRow): boolean {
  if (wanted === null || applied === null) return false;
  return touched || replacing || !isApplied(wanted, applied);
}

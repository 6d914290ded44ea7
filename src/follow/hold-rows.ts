// Computes the rows of holds, approvals, suspensions and rollouts. Pure; desired/deletions.ts decides what is held.

import { toRfc3339 } from '../base/wording.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import { failuresDigest, historyDigest, nothingLeftDigest } from '../machine/hold-digests.ts';
import { failuresMax, openUpdateOf } from '../machine/rollout.ts';
import { EVERY_INSTANCE } from '../machine/suspension.ts';
import { instanceAddress } from '../model/address.ts';
import type { ApprovalRow, Change, HeldRow, RolloutRow, ServerRow, SuspensionRow } from '../model/rows.ts';
import type { RowIndex } from '../reconcile/row-index.ts';

/** A change of a server's row that does not remove it. */
export type ServerRowChange = Extract<Change, { kind: 'server' }> & { readonly value: ServerRow };

/** Returns the rows of held instances, by name. A hold with an unchanged digest keeps its time. */
export function heldRows(
  { held, commit }: Pick<DesiredState, 'held' | 'commit'>,
  recorded: ReadonlyMap<string, HeldRow>,
  now: number,
): ReadonlyMap<string, HeldRow> {
  const rows = new Map<string, HeldRow>();
  for (const [instance, { digest, removals, reason, ...flags }] of held) {
    const known = recorded.get(instance);
    const servers = removals.map(({ server }) => server);
    const row = { digest, servers, reason, since: toRfc3339(now), commit, ...flags };
    const isSame = known?.digest === digest && !known.isHandOver === !flags.isHandOver;
    rows.set(instance, isSame ? known : row);
  }
  return rows;
}

/** How long the approval of a requested delete waits for its commit. */
const REQUEST_MS = 15 * 60 * 1000;

interface Activated {
  readonly desired: Pick<DesiredState, 'commit' | 'held' | 'spent' | 'unused'>;
  /** The newest commit of the branch, followed or not; undefined before the first poll. */
  readonly newest: string | undefined;
  readonly rollouts: ReadonlyMap<string, RolloutRow>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Returns the approvals that remain after the activation of a commit: those that it did not use and that can still be
 * used. Approved deletes are marked in the servers' rows. A commit may need two approvals, one after the other.
 */
export function keptApprovals(
  recorded: ReadonlyMap<string, ApprovalRow>,
  { desired: { commit, held, spent, unused }, newest, rollouts, now }: Activated,
): ReadonlyMap<string, ApprovalRow> {
  const failures = new Set([...rollouts.keys()].map(failuresDigest));
  const deletes = new Set([...unused, ...[...held.values()].map(({ digest }) => digest)]);
  const isOpen = (digest: string): boolean =>
    newest === undefined || (newest !== commit && commitDigests(newest).includes(digest));
  const isKept = (digest: string, { what, time }: ApprovalRow): boolean => {
    if (what === 'requested delete') return isApprovalOpen({ what, time }, now) && !spent.has(digest);
    if (what === 'history' || what === 'nothing left') return isOpen(digest);
    return what === 'failures' ? failures.has(digest) : deletes.has(digest);
  };
  return new Map([...recorded].filter(([digest, approval]) => isKept(digest, approval)));
}

/** Returns false if an approval has waited too long for its commit. */
export function isApprovalOpen({ what, time }: Pick<ApprovalRow, 'what' | 'time'>, now: number): boolean {
  return what !== 'requested delete' || Date.parse(time) > now - REQUEST_MS;
}

function commitDigests(commit: string): readonly string[] {
  return [historyDigest(commit), nothingLeftDigest(commit)];
}

interface Suspended {
  readonly desired: Pick<DesiredState, 'units' | 'invalid'>;
  /** Instances with rows of servers. */
  readonly recorded: ReadonlySet<string>;
}

/** Returns the suspensions whose instance still exists. */
export function suspensionRows(
  suspensions: ReadonlyMap<string, SuspensionRow>,
  { desired: { units, invalid }, recorded }: Suspended,
): ReadonlyMap<string, SuspensionRow> {
  const isPresent = (name: string): boolean =>
    name === EVERY_INSTANCE || recorded.has(name) || units.has(instanceAddress(name));
  return new Map([...suspensions].filter(([name]) => isPresent(name) || invalid.has(name)));
}

/** Returns the number of servers with an open update after these changes, by commit. */
export function openUpdatesAfter(
  index: Pick<RowIndex, 'openUpdates'>,
  changes: readonly ServerRowChange[],
): ReadonlyMap<string, number> {
  const counts = new Map([...index.openUpdates()].map(([key, names]) => [key, names.size]));
  const add = (key: string | undefined, count: number): void => {
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + count);
  };
  for (const { expected, value } of changes) {
    add(expected && openUpdateOf(expected), -1);
    add(openUpdateOf(value), 1);
  }
  return new Map([...counts].filter(([, count]) => count > 0));
}

/**
 * Returns the number of updates of each commit with open updates. A healing update belongs to the commit that last
 * changed its server.
 */
export function rolloutRows(
  recorded: ReadonlyMap<string, RolloutRow>,
  open: ReadonlyMap<string, number>,
): ReadonlyMap<string, RolloutRow> {
  const rollouts = new Map([...recorded].filter(([name]) => open.has(name)));
  for (const [name, updates] of open) {
    // A commit with fewer updates than may fail needs no row.
    if (!rollouts.has(name) && updates > failuresMax({ updates })) rollouts.set(name, { updates });
  }
  return rollouts;
}

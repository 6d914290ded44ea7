// Applies a commit to the row of one server. Pure; decide.ts acts on the result.

import { toRfc3339 } from '../base/wording.ts';
import { isSame } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import { NO_OUTPUTS } from '../model/outputs.ts';
import type { ExplainedRecord } from '../model/record.ts';
import type { ServerRow } from '../model/rows.ts';
import type { ServerPosition, Spec, WantedServer } from '../model/spec.ts';
import type { State } from '../model/state.ts';
import { isLeftGone, withoutHealing, withReread } from './drift.ts';
import { isConverged, isSameSpec, needsNoAction, wantsTheSame } from './existence.ts';
import { type OutputFacts, takeOutputs } from './read-outputs.ts';
import { advance, FIRST_STATE } from './transitions.ts';

/** The commit that is activated, and when. */
export interface CommitStamp {
  readonly commit: string;
  /** Committer time of the followed head, RFC 3339: the `last_stack_update` of the servers that it changes. */
  readonly time: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The version was active before a restart, so servers that wait for a time keep waiting. */
  readonly isRestored?: boolean;
}

/** States in which a server waits for something that a new commit may have changed. */
const WAITING: ReadonlySet<State> = new Set(['failed', 'retrying', 'blocked']);

/** In the state `unknown`, a due time means that a check failed and the next one is awaited. */
function isWaiting({ state, due }: ServerRow): boolean {
  return WAITING.has(state) || (state === 'unknown' && due !== null);
}

/** Returns the first row of a server. A check is its first step. */
export function firstRow(server: WantedServer, { commit, time, now }: CommitStamp): ServerRow {
  return {
    ...placeOf(server),
    state: FIRST_STATE,
    reason: null,
    since: toRfc3339(now),
    commit,
    generation: 1,
    incarnation: now,
    wanted: server.spec,
    applied: null,
    approved: false,
    adopting: false,
    checked: false,
    mayExist: false,
    action: null,
    dirty: false,
    replacing: false,
    attempt: 0,
    gaveUp: false,
    due: null,
    provider: null,
    outputs: NO_OUTPUTS,
    updated: time,
    lastRecord: null,
  };
}

/** Returns the row after a commit that wants the server; the same object if the commit changes nothing about it. */
export function wantRow(row: ServerRow, server: WantedServer, stamp: CommitStamp): ServerRow {
  const { isRestored = false } = stamp;
  const isOld = row.wanted !== null && isSameSpec(row.wanted, server.spec) && isSamePlace(row, server);
  if (isOld && (!isWaiting(row) || (isRestored && row.due !== null))) return row;
  const { next, changesServer } = changedRow(row, server, stamp);
  // A commit does not explain why many servers are gone. An operator has to retry, or a check has to find the server.
  if (isLeftGone(row)) return next;
  if (changesServer || isWaiting(row)) {
    return advance(next, 'want', {
      now: toRfc3339(stamp.now),
      due: null,
      attempt: 0,
      gaveUp: row.gaveUp && !changesServer,
    });
  }
  // A spec that needs no action is recorded as applied: deletes follow the applied dependencies, not the wanted ones.
  return next.state === 'done' && isConverged(next) ? { ...next, applied: next.wanted } : next;
}

interface ChangedRow {
  readonly next: ServerRow;
  /** The new wanted spec needs an action. */
  readonly changesServer: boolean;
}

/** Returns the row with another wanted spec and its state unchanged. */
function changedRow(row: ServerRow, server: WantedServer, { commit, time }: CommitStamp): ChangedRow {
  const changesServer = row.wanted === null || !needsNoAction(server.spec, row.wanted);
  const next: ServerRow = {
    ...(changesServer ? withoutHealing(row) : row),
    ...placeOf(server),
    wanted: server.spec,
    generation: row.generation + (changesServer ? 1 : 0),
    updated: changesServer ? time : row.updated,
    commit: changesServer ? commit : row.commit,
    // The approval stays valid for a replacement that the commit does not change.
    approved: row.approved && row.replacing && !changesServer && !isToStay(row, server),
    replacing: row.replacing && !(changesServer && isStillWhole(row)),
    lastRecord: null,
  };
  const applied = changesServer ? row.applied : restructured(row, server.spec);
  return { next: { ...next, applied }, changesServer };
}

/**
 * Returns the wanted server with values from outputs of others. Texts that the commit does not change keep their
 * values: {@link rereadRow} applies changed outputs.
 */
export function withOutputs(
  server: WantedServer,
  row: Pick<ServerRow, 'wanted' | 'applied'> | undefined,
  facts: OutputFacts,
): WantedServer {
  const spec = takeOutputs(server.spec, { specs: lastSpecs(row), stay: true }, facts);
  return spec === server.spec ? server : { ...server, spec };
}

/**
 * Returns the row with the current outputs of others; the same object if they change nothing. Unlike after a commit,
 * `attempt` and `due` stay, so that outputs that change again and again do not start a try before it is due.
 */
export function rereadRow(row: ServerRow, facts: OutputFacts, now: number): ServerRow {
  const { wanted, commit, applied, rereads } = row;
  if (wanted?.reads === undefined) return row;
  const spec = takeOutputs(wanted, { specs: applied === null ? [] : [wanted, applied] }, facts);
  if (spec === wanted) return row;
  const stamp = { commit, time: toRfc3339(now).replace(/\.\d+/, ''), now };
  const { next, changesServer } = changedRow(row, { ...row, name: '', spec }, stamp);
  if (!changesServer) return next.state === 'done' && isConverged(next) ? { ...next, applied: next.wanted } : next;
  // A server that waits for its next try or for an operator uses the newest value then.
  if (row.due !== null || isLeftGone(row) || applied === null || (row.state === 'pending' && !row.replacing))
    return { ...next, ...(rereads && { rereads }) };
  return withReread(advance(next, 'want', { now: toRfc3339(now) }), rereads, now);
}

function lastSpecs(row: Pick<ServerRow, 'wanted' | 'applied'> | undefined): readonly Spec[] {
  return [row?.wanted, row?.applied].filter((spec) => spec != null);
}

/** The commit that no longer wants a server, and the record to keep of it. */
interface UnwantStamp extends Pick<CommitStamp, 'commit' | 'now'> {
  /** Its last record, or null if it is unknown. */
  readonly lastRecord: ExplainedRecord | null;
}

/** Returns the row after a commit that no longer wants the server. Its record stays until the server is gone. */
export function unwantRow(row: ServerRow, { lastRecord, commit, now }: UnwantStamp): ServerRow {
  if (row.wanted === null) return row;
  const requeued = { due: null, attempt: 0, gaveUp: false, replacing: false, generation: row.generation + 1 };
  // The approval of a running delete is for this incarnation. The approval of a replacement does not cover a permanent
  // delete.
  const approved = row.action?.isApproved === true;
  const facts = { ...requeued, wanted: null, approved, lastRecord, commit };
  return advance(row, 'unwant', { now: toRfc3339(now), ...facts });
}

/**
 * Returns true if the server exists and becomes protected, which ends an earlier approval: after the protection ends,
 * the replacement counts like any other.
 */
function isToStay({ applied, action }: ServerRow, { policy }: WantedServer): boolean {
  return policy.protected && applied !== null && action === null;
}

/**
 * Returns true if the server exists and no action runs, so that the new spec may be reachable without a delete: the
 * provider is asked again.
 */
function isStillWhole(row: ServerRow): boolean {
  return row.applied !== null && row.action === null;
}

/**
 * Returns the applied spec of a server if a commit changes only its structure. This needs no action, so it applies
 * immediately, even to a drifted or failed server, and servers that it no longer needs can be deleted.
 */
function restructured({ applied, wanted }: ServerRow, { dependsOn, lists }: Spec): Spec | null {
  if (applied === null || wanted === null) return applied;
  const structure = {
    dependsOn: rebased(applied.dependsOn, wanted.dependsOn, dependsOn),
    lists: rebased(applied.lists, wanted.lists, lists),
  };
  const isAsBefore = structure.dependsOn === applied.dependsOn && structure.lists === applied.lists;
  return isAsBefore ? applied : { ...applied, ...structure };
}

/**
 * Returns `names` with the additions and removals between `before` and `after` applied, sorted; the same list if there
 * are none.
 */
function rebased(names: readonly string[], before: readonly string[], after: readonly string[]): readonly string[] {
  const gone = new Set(before).difference(new Set(after));
  const come = new Set(after).difference(new Set(before));
  if (gone.size === 0 && come.size === 0) return names;
  return [...new Set([...names.filter((name) => !gone.has(name)), ...come])].sort(compareNames);
}

function placeOf({ instance, key, index, policy }: WantedServer): ServerPosition {
  return { instance, key, index, policy };
}

/**
 * Returns true if a row wants the same as a commit, apart from differences that need no action and put nothing at risk.
 */
export function isWantedAs(row: ServerRow, server: WantedServer): boolean {
  const { instance, policy, wanted } = row;
  if (wanted === null || instance !== server.instance) return false;
  const isSameSafety = policy.protected === server.policy.protected && policy.deletion === server.policy.deletion;
  return isSameSafety && wantsTheSame(server.spec, wanted);
}

function isSamePlace(row: ServerRow, server: WantedServer): boolean {
  const { instance, key, index, policy } = row;
  return (
    instance === server.instance &&
    key === server.key &&
    index === server.index &&
    isSame({ ...policy }, { ...server.policy })
  );
}

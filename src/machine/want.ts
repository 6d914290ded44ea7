// What a commit means for the row of one server. Pure; decide.ts then does something about it.

import { isSame } from '../model/json.ts';
import { momentOf } from '../model/moment.ts';
import { compareNames } from '../model/names.ts';
import type { ExplainedRecord } from '../model/record.ts';
import type { ServerRow } from '../model/rows.ts';
import type { ServerPolicy, Spec, WantedServer } from '../model/spec.ts';
import type { State } from '../model/state.ts';
import { advance } from './advance.ts';
import { isSameSpec, needsNoAction } from './difference.ts';
import { isConverged } from './existence.ts';
import { FIRST_STATE } from './transitions.ts';

/** When a commit is taken. */
export interface CommitStamp {
  readonly commit: string;
  /** Committer time of the followed head, RFC 3339: `last_stack_update` of what it changes. */
  readonly time: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The version is the one that was active before a restart: what waits for a time goes on to wait for it. */
  readonly isRestored?: boolean;
}

/** States in which a server waits for something that a new commit may have changed. */
const WAITING: ReadonlySet<State> = new Set(['failed', 'retrying', 'blocked']);

/** Where its outcome is unknown and a check of it failed, it waits for the next check. */
function isWaiting({ state, due }: ServerRow): boolean {
  return WAITING.has(state) || (state === 'unknown' && due !== null);
}

/** Returns the first row of a server. It is looked at before anything else, whatever it waits for. */
export function firstRow(server: WantedServer, { commit, time, now }: CommitStamp): ServerRow {
  return {
    ...placeOf(server),
    state: FIRST_STATE,
    reason: null,
    since: momentOf(now),
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
    outputs: {},
    updated: time,
    lastRecord: null,
  };
}

/** Returns the row after a commit that wants the server; the same object where the commit changes nothing about it. */
export function wantRow(row: ServerRow, server: WantedServer, stamp: CommitStamp): ServerRow {
  const { commit, time, now, isRestored = false } = stamp;
  const isOld = row.wanted !== null && isSameSpec(row.wanted, server.spec) && isSamePlace(row, server);
  if (isOld && (!isWaiting(row) || (isRestored && row.due !== null))) return row;
  const changesServer = row.wanted === null || !needsNoAction(server.spec, row.wanted);
  const next: ServerRow = {
    ...row,
    ...placeOf(server),
    wanted: server.spec,
    generation: row.generation + (changesServer ? 1 : 0),
    updated: changesServer ? time : row.updated,
    commit: changesServer ? commit : row.commit,
    // Of a replacement that goes on as it was approved.
    approved: row.approved && row.replacing && !changesServer,
    replacing: row.replacing && !(changesServer && isStillWhole(row)),
    gaveUp: row.gaveUp && !changesServer,
    lastRecord: null,
  };
  const known = changesServer ? next : { ...next, applied: restructured(row, server.spec) };
  if (changesServer || isWaiting(row)) {
    return advance(known, 'want', { now: momentOf(now), due: null, attempt: 0 });
  }
  // What needs no action still has to be remembered as applied: deletes follow what is applied, not what is wanted.
  return known.state === 'done' && isConverged(known) ? { ...known, applied: known.wanted } : known;
}

export interface Parting extends Pick<CommitStamp, 'commit' | 'now'> {
  /** Its last record, or null where nobody knows it. */
  readonly lastRecord: ExplainedRecord | null;
}

/** Returns the row after a commit that does not want the server any more. Its record stays until the server is gone. */
export function unwantRow(row: ServerRow, { lastRecord, commit, now }: Parting): ServerRow {
  if (row.wanted === null) return row;
  const requeued = { due: null, attempt: 0, gaveUp: false, replacing: false, generation: row.generation + 1 };
  // A delete of it that runs was approved for this incarnation of it.
  const approved = row.approved || row.action?.isApproved === true;
  const facts = { ...requeued, wanted: null, approved, lastRecord, commit };
  return advance(row, 'unwant', { now: momentOf(now), ...facts });
}

/** No delete of it runs, so what is wanted by now may be reached without one: the provider is asked again. */
function isStillWhole({ applied, action }: ServerRow): boolean {
  return applied !== null && action === null;
}

/**
 * Returns what is applied to a server of which a commit changes nothing but structure. That needs no action, so it holds
 * at once, also where the server has drifted or failed: whoever it does not need any more may go.
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

/** Returns `names` with what came from `before` to `after` added, and what went taken away, sorted; itself where that is nothing. */
function rebased(names: readonly string[], before: readonly string[], after: readonly string[]): readonly string[] {
  const gone = new Set(before).difference(new Set(after));
  const come = new Set(after).difference(new Set(before));
  if (gone.size === 0 && come.size === 0) return names;
  return [...new Set([...names.filter((name) => !gone.has(name)), ...come])].sort(compareNames);
}

interface Belonging {
  readonly instance: string;
  readonly key: string;
  readonly index: string | null;
  readonly policy: ServerPolicy;
}

function placeOf({ instance, key, index, policy }: WantedServer): Belonging {
  return { instance, key, index, policy };
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

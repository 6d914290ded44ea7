// What a commit means for the row of one server. Pure; decide.ts then does something about it.
import { momentOf } from '../clock.ts';
import { advance } from '../machine/advance.ts';
import { FIRST_STATE } from '../machine/transitions.ts';
import { isSame } from '../model/json.ts';
import type { ExplainedRecord } from '../model/record.ts';
import type { ServerRow } from '../model/recorded.ts';
import type { ServerPolicy, WantedServer } from '../model/spec.ts';
import type { State } from '../model/state.ts';
import { isApplied, isSameSpec } from '../plan/difference.ts';

/** When a commit is taken. */
export interface Taking {
  readonly commit: string;
  /** Committer time of the followed head, RFC 3339: `last_stack_update` of what it changes. */
  readonly time: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** States in which a server waits for something that a new commit may have changed. */
const WAITING: ReadonlySet<State> = new Set(['failed', 'retrying', 'blocked']);

/** Where its outcome is unknown and a check of it failed, it waits for the next check. */
function isWaiting({ state, due }: ServerRow): boolean {
  return WAITING.has(state) || (state === 'unknown' && due !== null);
}

/** Returns the first row of a server. It is looked at before anything else, whatever it waits for. */
export function firstRow(server: WantedServer, { commit, time, now }: Taking): ServerRow {
  return {
    ...placeOf(server),
    state: FIRST_STATE,
    reason: '',
    since: momentOf(now),
    commit,
    generation: 1,
    incarnation: now,
    wanted: server.spec,
    applied: null,
    approved: false,
    adopting: false,
    seen: false,
    mayExist: false,
    action: null,
    touched: false,
    replacing: false,
    attempt: 0,
    gaveUp: false,
    due: null,
    provider: null,
    outputs: {},
    updated: time,
    farewell: null,
  };
}

/** Returns the row after a commit that wants the server; the same object where the commit changes nothing about it. */
export function wantRow(row: ServerRow, server: WantedServer, { commit, time, now }: Taking): ServerRow {
  const isOld = row.wanted !== null && isSameSpec(row.wanted, server.spec) && isSamePlace(row, server);
  if (isOld && !isWaiting(row)) return row;
  const changesServer = row.wanted === null || !isApplied(server.spec, row.wanted);
  const next: ServerRow = {
    ...row,
    ...placeOf(server),
    wanted: server.spec,
    generation: row.generation + (changesServer ? 1 : 0),
    updated: changesServer ? time : row.updated,
    commit: changesServer ? commit : row.commit,
    approved: false,
    replacing: row.replacing && !(changesServer && isStillWhole(row)),
    gaveUp: row.gaveUp && !changesServer,
    farewell: null,
  };
  if (changesServer || isWaiting(row)) {
    return advance(next, 'want', { now: momentOf(now), due: null, attempt: 0 });
  }
  return isSettledAs(next) ? { ...next, applied: next.wanted } : next;
}

export interface Parting extends Pick<Taking, 'commit' | 'now'> {
  /** Its last record, or null where nobody knows it. */
  readonly farewell: ExplainedRecord | null;
}

/** Returns the row after a commit that does not want the server any more. Its record stays until the server is gone. */
export function unwantRow(row: ServerRow, { farewell, commit, now }: Parting): ServerRow {
  if (row.wanted === null) return row;
  const requeued = { due: null, attempt: 0, gaveUp: false, replacing: false, generation: row.generation + 1 };
  // A delete of it that runs was approved for this building of it.
  const approved = row.approved || row.action?.isApproved === true;
  const facts = { ...requeued, wanted: null, approved, farewell, commit };
  return advance(row, 'unwant', { now: momentOf(now), ...facts });
}

/** No delete of it runs, so what is wanted by now may be reached without one: the provider is asked again. */
function isStillWhole({ applied, action }: ServerRow): boolean {
  return applied !== null && action === null;
}

/** What needs no action still has to be remembered as applied: deletes follow what is applied, not what is wanted. */
function isSettledAs(row: ServerRow): boolean {
  return row.state === 'done' && row.wanted !== null && row.applied !== null && isApplied(row.wanted, row.applied);
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

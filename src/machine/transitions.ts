// Defines the transitions between the states of a server, and applies an event to a row. Every change of a state goes
// through `transition`. Pure: the caller passes the time.
import { invariant } from '../base/invariant.ts';
import type { Reason, ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';

/** All events that may change the state of a server. A missing cell of the table is a bug of the caller. */
export const EVENTS = [
  // The server is wanted and may continue: a commit changed it, or a wait ended.
  'want',
  // No commit wants the server any more, or a wait of its removal ended.
  'unwant',
  // An operator or a site must act first.
  'hold',
  // The intent to create it is being recorded.
  'start create',
  // The intent to update it is being recorded.
  'start update',
  // The intent to delete it is being recorded.
  'start delete',
  // The running action succeeded.
  'succeed',
  // A try failed. Another follows at a known time.
  'fail',
  // The last try failed. A long wait follows.
  'give up',
  // The outcome of the running action will never be known.
  'lose',
  // The state of the server is known, and another action has to follow.
  'learn',
  // The server matches the wanted spec, and no action was needed.
  'settle',
  // A check found a difference from the applied spec.
  'drift',
] as const;
/** An event of the table. */
export type Event = (typeof EVENTS)[number];

/** The state of a server without a recorded row. */
export const FIRST_STATE = 'pending' satisfies State;

// Each row maps events in that state to the next state. While an action runs, `want` and `unwant` change only the
// wanted spec: the action ends first, so that two actions never run together.
const TRANSITIONS = {
  pending: {
    want: 'pending',
    unwant: 'marked for delete',
    hold: 'blocked',
    'start create': 'creating',
    'start update': 'updating',
    'start delete': 'deleting',
    fail: 'retrying',
    'give up': 'failed',
    settle: 'done',
    drift: 'drifted',
  },
  blocked: {
    want: 'pending',
    unwant: 'marked for delete',
    hold: 'blocked',
    fail: 'retrying',
    'give up': 'failed',
    settle: 'done',
    drift: 'drifted',
  },
  creating: {
    want: 'creating',
    unwant: 'creating',
    succeed: 'done',
    fail: 'retrying',
    'give up': 'failed',
    lose: 'unknown',
  },
  updating: {
    want: 'updating',
    unwant: 'updating',
    succeed: 'done',
    fail: 'retrying',
    'give up': 'failed',
    lose: 'unknown',
    learn: 'pending',
  },
  // A delete leads to `pending` only if the server is wanted again or is being replaced; otherwise its row is removed.
  deleting: {
    want: 'deleting',
    unwant: 'deleting',
    succeed: 'pending',
    fail: 'retrying',
    'give up': 'failed',
    lose: 'unknown',
  },
  retrying: {
    want: 'pending',
    unwant: 'marked for delete',
    hold: 'blocked',
    settle: 'done',
  },
  // A failed check leaves it unknown: no action may run before a check has succeeded.
  unknown: {
    want: 'unknown',
    unwant: 'unknown',
    fail: 'unknown',
    'give up': 'unknown',
    learn: 'pending',
  },
  done: {
    want: 'pending',
    unwant: 'marked for delete',
    settle: 'done',
    drift: 'drifted',
  },
  drifted: {
    want: 'pending',
    unwant: 'marked for delete',
    settle: 'done',
    drift: 'drifted',
  },
  failed: {
    want: 'pending',
    unwant: 'marked for delete',
    hold: 'blocked',
    settle: 'done',
  },
  'marked for delete': {
    want: 'pending',
    unwant: 'marked for delete',
    hold: 'blocked',
    'start delete': 'deleting',
    fail: 'retrying',
    'give up': 'failed',
  },
} as const satisfies Record<State, Readonly<Partial<Record<Event, State>>>>;

/** Returns the next state. Throws if the table has no cell: the caller must not send such an event. */
export function transition(state: State, event: Event): State {
  const row: Readonly<Partial<Record<Event, State>>> = TRANSITIONS[state];
  const next = row[event];
  invariant(next !== undefined, `no transition from "${state}" on "${event}"`);
  return next;
}

/** Returns true if the table has a cell. */
export function accepts(state: State, event: Event): boolean {
  return Object.hasOwn(TRANSITIONS[state], event);
}

/** The time of a change of a row, and its reason. */
export interface Moment {
  /** RFC 3339, with milliseconds. */
  readonly now: string;
  /** Null or omitted if the state alone explains the row. */
  readonly reason?: Reason | null;
}

/** The fields that an event may change besides the state. */
type Facts = Partial<Omit<ServerRow, 'state' | 'since' | 'reason'>>;

/**
 * Returns the row after an event, with `facts` applied. `since` changes only with the state. An approval of a
 * replacement ends with the replacement.
 */
export function advance(row: ServerRow, event: Event, { now, reason = null, ...facts }: Moment & Facts): ServerRow {
  const state = transition(row.state, event);
  const next = { ...row, ...facts, state, since: state === row.state ? row.since : now, reason };
  return next.approved && next.wanted !== null && !next.replacing ? { ...next, approved: false } : next;
}

/** Returns the row back in the queue for its wanted spec, with `facts` applied and without a due time. */
export function requeue(row: ServerRow, facts: Moment & Facts): ServerRow {
  return advance(row, row.wanted === null ? 'unwant' : 'want', { due: null, ...facts });
}

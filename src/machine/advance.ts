// Applies events to the row of one server. Pure: the caller passes the time.
import type { Reason, ServerRow } from '../model/rows.ts';
import { type Event, transition } from './transitions.ts';

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
 * Returns the row after an event, with `facts` applied. `since` changes only with the state. An approval of a replacement
 * ends with the replacement.
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

// Moves one server's row along the table. Pure: the moment is handed in.
import type { Reason, ServerRow } from '../model/rows.ts';
import { type Event, transition } from './transitions.ts';

export interface Moment {
  /** RFC 3339, with milliseconds. */
  readonly now: string;
  /** Null, or left out, where the state says all. */
  readonly reason?: Reason | null;
}

/** What an event may change besides the state. */
export type Facts = Partial<Omit<ServerRow, 'state' | 'since' | 'reason'>>;

/** Returns the row after an event, with `facts` laid over it. `since` stays where the state does. */
export function advance(row: ServerRow, event: Event, { now, reason = null, ...facts }: Moment & Facts): ServerRow {
  const state = transition(row.state, event);
  return { ...row, ...facts, state, since: state === row.state ? row.since : now, reason };
}

/** Returns the row that is queued for what is wanted of it now, with `facts` laid over it. It waits for no time. */
export function requeue(row: ServerRow, facts: Moment & Facts): ServerRow {
  return advance(row, row.wanted === null ? 'unwant' : 'want', { due: null, ...facts });
}

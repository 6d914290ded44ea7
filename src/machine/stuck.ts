// Tells which servers of unknown outcome wait for a person: none of them can be checked before the settings are
// changed.
import type { ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';

/** Returns true if the outcome of an action was lost and no provider entry can tell it. */
export function isStuck({ state, reason }: Pick<ServerRow, 'state' | 'reason'>): boolean {
  return state === 'unknown' && (reason?.code === 'no_provider' || reason?.code === 'provider_changed');
}

/** Returns the state that counts for the status of an instance: a server that cannot be checked counts as blocked. */
export function effectiveState(row: Pick<ServerRow, 'state' | 'reason'>): State {
  return isStuck(row) ? 'blocked' : row.state;
}

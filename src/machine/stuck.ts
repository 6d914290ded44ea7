// Tells which servers of unknown outcome wait for a person: no check of them is possible before the settings fit again.
import type { ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';

/** Returns true where the outcome of an action was lost and no provider entry is there that can tell it. */
export function isStuck({ state, reason }: Pick<ServerRow, 'state' | 'reason'>): boolean {
  return state === 'unknown' && (reason?.code === 'no_provider' || reason?.code === 'provider_changed');
}

/** Returns the state that counts for the status of an instance: one that cannot be checked counts as blocked. */
export function effectiveState(row: Pick<ServerRow, 'state' | 'reason'>): State {
  return isStuck(row) ? 'blocked' : row.state;
}

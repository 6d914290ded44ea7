// Tells which servers of unknown outcome wait for a person: nobody can check them before the settings fit again.
import type { ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';

const NO_ENTRY = /^(?:no_provider|provider_changed):/;

/** Returns true where the outcome of an action was lost and no provider entry is there that can tell it. */
export function isStuck({ state, reason }: Pick<ServerRow, 'state' | 'reason'>): boolean {
  return state === 'unknown' && NO_ENTRY.test(reason);
}

/** Returns the state that counts for the status of an instance: a server that nobody can check is as good as blocked. */
export function standingState(row: Pick<ServerRow, 'state' | 'reason'>): State {
  return isStuck(row) ? 'blocked' : row.state;
}

// Tells which servers of unknown outcome wait for a person: none of them can be checked before the settings are
// changed, or a proxy is registered.
import type { ReasonCode, ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';

const CODES: ReadonlySet<ReasonCode> = new Set(['no_provider', 'no_proxy', 'provider_changed']);

/** Returns true if the outcome of an action was lost and no provider entry or proxy can tell it. */
export function isStuck({ state, reason }: Pick<ServerRow, 'state' | 'reason'>): boolean {
  return state === 'unknown' && reason !== null && CODES.has(reason.code);
}

/** Returns the state that counts for the status of an instance: a server that cannot be checked counts as blocked. */
export function effectiveState(row: Pick<ServerRow, 'state' | 'reason'>): State {
  return isStuck(row) ? 'blocked' : row.state;
}

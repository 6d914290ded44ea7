// Reads and compares the reasons of server rows.
import type { Reason, ReasonCode, RunningAction, ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';

/** The reasons for which no check can find out a lost outcome. */
const UNTOLD: ReadonlySet<ReasonCode> = new Set(['no_provider', 'no_proxy', 'provider_changed']);

/** Returns the text of a reason, `<code>: <text>`; empty if there is none. */
export function reasonText(reason: Reason | null): string {
  return reason === null ? '' : `${reason.code}: ${reason.text}`;
}

/** Returns `<state>: <reason>`; a code of the reason that repeats the state is left out. */
export function stateWithReason(state: string, reason: string): string {
  const prefix = `${state}: `;
  return reason === '' || reason.startsWith(prefix) ? reason || state : `${prefix}${reason}`;
}

/** Returns true if both reasons are equal. */
export function isSameReason(a: Reason | null, b: Reason | null): boolean {
  return a?.code === b?.code && a?.text === b?.text;
}

/** Returns true if the row is blocked for one of these reasons. */
export function isBlockedFor({ state, reason }: ServerRow, ...codes: readonly ReasonCode[]): boolean {
  return state === 'blocked' && reason !== null && codes.includes(reason.code);
}

/** Returns the text for an action whose outcome was lost. */
export function lostText({ operation }: RunningAction, because: string | undefined): string {
  return `the outcome of the last ${operation} is not known${because === undefined ? '' : `: ${because}`}`;
}

/**
 * Returns true if the outcome of an action was lost and no provider entry or proxy can find it out. An operator has to
 * act.
 */
export function isStuck({ state, reason }: Pick<ServerRow, 'state' | 'reason'>): boolean {
  return state === 'unknown' && reason !== null && UNTOLD.has(reason.code);
}

/** So many failed checks after a lost outcome, which is a failed try too, are no passing fault. */
const FAILED_CHECKS = 3;

/**
 * Returns true if the outcome of an action was lost and the checks that would find it out fail, several in a row or
 * until a long wait. The server continues once a check is answered; an operator has to see to that.
 */
function isUntold({ state, reason, gaveUp, attempt }: CountedRow): boolean {
  return state === 'unknown' && reason?.code === 'check_failed' && (gaveUp || attempt > FAILED_CHECKS);
}

type CountedRow = Pick<ServerRow, 'state' | 'reason' | 'gaveUp' | 'attempt'>;

/** Returns the state that counts for the status of an instance: a server that cannot be checked counts as blocked. */
export function effectiveState(row: CountedRow): State {
  return isStuck(row) || isUntold(row) ? 'blocked' : row.state;
}

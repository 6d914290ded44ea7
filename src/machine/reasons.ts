// Reads and compares the reasons of server rows.
import type { Reason, ReasonCode, RunningAction, ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';

/** The reasons why no check can determine a lost outcome. */
const CANNOT_CHECK: ReadonlySet<ReasonCode> = new Set(['no_provider', 'no_proxy', 'provider_changed']);

/** Returns the text of a reason, `<code>: <text>`; empty if there is none. */
export function reasonText(reason: Reason | null): string {
  return reason === null ? '' : `${reason.code}: ${reason.text}`;
}

/** Returns `<state>: <reason>`, without the code of the reason if it repeats the state. */
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
 * Returns true if the outcome of an action was lost and no provider entry or proxy can determine it. An operator has to
 * act.
 */
export function isStuck({ state, reason }: Pick<ServerRow, 'state' | 'reason'>): boolean {
  return state === 'unknown' && reason !== null && CANNOT_CHECK.has(reason.code);
}

/**
 * More failed checks than this after a lost outcome are not a transient fault. The lost outcome counts as a failed try,
 * too.
 */
const FAILED_CHECKS = 3;

/**
 * Returns true if the outcome of an action was lost and the checks that would determine it fail, several times in a row
 * or until they are given up. The server continues once a check is answered; an operator has to make that possible.
 */
function hasFailingLostChecks({ state, reason, gaveUp, attempt }: CountedRow): boolean {
  return state === 'unknown' && reason?.code === 'check_failed' && (gaveUp || attempt > FAILED_CHECKS);
}

type CountedRow = Pick<ServerRow, 'state' | 'reason' | 'gaveUp' | 'attempt'>;

/** Returns the state for the status of an instance: a server that cannot be checked counts as blocked. */
export function effectiveState(row: CountedRow): State {
  return isStuck(row) || hasFailingLostChecks(row) ? 'blocked' : row.state;
}

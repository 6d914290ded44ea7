// Why a server is not further. A reason begins with a stable code, so that people can search for it and programs can tell.
import type { ServerRow } from '../model/rows.ts';

export type ReasonCode =
  | 'exists_already'
  | 'no_provider'
  | 'provider_changed'
  | 'protected'
  | 'outcome_lost'
  | 'action_failed'
  | 'check_failed'
  | 'circle_broken';

/** Returns a reason as it is recorded: `<code>: <words for a person>`. */
export function reasonOf(code: ReasonCode, words: string): string {
  return `${code}: ${words}`;
}

/** Returns true where the row is blocked for one of these reasons. */
export function isBlockedFor(row: ServerRow, ...codes: readonly ReasonCode[]): boolean {
  return row.state === 'blocked' && codes.some((code) => row.reason.startsWith(`${code}:`));
}

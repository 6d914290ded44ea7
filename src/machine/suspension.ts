// Decides whether a suspension stops the actions of an instance. It ends when an operator resumes the instance, or at a
// set time.
import type { SuspensionRow } from '../model/rows.ts';

/** The name of the suspension of every instance. */
export const EVERY_INSTANCE = '*';

/**
 * Returns when a suspension ends: milliseconds since 1970; infinity if only an operator ends it; undefined if there is
 * none or it is over at `now`.
 */
export function suspendedUntil(row: SuspensionRow | undefined, now: number): number | undefined {
  if (row === undefined) return undefined;
  const until = row.until === null ? Number.POSITIVE_INFINITY : Date.parse(row.until);
  return until > now ? until : undefined;
}

// Whether actions of an instance may start. A suspension ends when somebody resumes, or by itself at its time.
import type { SuspensionRow } from '../model/rows.ts';

/** The name of the suspension of every instance. */
export const EVERY_INSTANCE = '*';

/**
 * Returns when a suspension ends: milliseconds since 1970, infinity where only a person ends it, undefined where there
 * is none or its time is over at `now`.
 */
export function suspendedUntil(row: SuspensionRow | undefined, now: number): number | undefined {
  if (row === undefined) return undefined;
  const until = row.until === null ? Number.POSITIVE_INFINITY : Date.parse(row.until);
  return until > now ? until : undefined;
}

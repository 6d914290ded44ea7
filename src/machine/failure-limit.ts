// Sets how many failed updates of one commit hold the remaining ones. docs/concepts.md, updates.
import type { RolloutRow } from '../model/rows.ts';

const FAILURES_LEAST = 3;
const FAILURES_SHARE = 0.05;

/** Returns how many updates of a commit may fail before the rest is held: 3, or 5 percent of them. */
export function failuresMax({ updates }: RolloutRow): number {
  return Math.max(FAILURES_LEAST, Math.ceil(updates * FAILURES_SHARE));
}

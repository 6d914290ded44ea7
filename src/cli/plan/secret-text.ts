// Describes the change of a secret, in every format of a plan for people.
import type { Difference } from '../../plan/plan.ts';

/** Returns the kind of the change: a value of a secret is never shown. */
export function secretText({ from, to }: Difference<unknown>): string {
  if (from === null) return 'added (secret)';
  return to === null ? 'removed (secret)' : 'changed (secret)';
}

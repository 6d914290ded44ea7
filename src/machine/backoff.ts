// How long to wait before the next try.
import type { RetrySettings } from '../settings.ts';

/**
 * Returns milliseconds until the next try after `attempt` failed ones (from 1): exponential with full jitter, so that
 * many servers that failed together do not come back together. `random` is in [0, 1).
 */
export function backoffMs(policy: RetrySettings, attempt: number, random: () => number): number {
  const ceilingSeconds = Math.min(policy.maxSeconds, policy.firstSeconds * 2 ** Math.min(attempt - 1, 30));
  return Math.round(ceilingSeconds * 1000 * random());
}

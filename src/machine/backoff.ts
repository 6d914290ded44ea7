// Computes the delay before the next try of a failed step.

/** Sets when a failed step is tried again. */
export interface RetryPolicy {
  /** Tries before giving up for `failedSeconds`. */
  readonly attempts: number;
  readonly firstSeconds: number;
  readonly maxSeconds: number;
  readonly failedSeconds: number;
}

/**
 * Returns the milliseconds until the next try after `attempt` failed ones (from 1): exponential with full jitter, so
 * that servers that failed together are not retried together. `random` is in [0, 1).
 */
export function backoffMs(policy: RetryPolicy, attempt: number, random: () => number): number {
  const ceilingSeconds = Math.min(policy.maxSeconds, policy.firstSeconds * 2 ** Math.min(attempt - 1, 30));
  return Math.round(ceilingSeconds * 1000 * random());
}

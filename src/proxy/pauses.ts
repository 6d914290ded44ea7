// Computes the pauses between requests: longer after each failure, with jitter, so that many proxies do not come back at
// the same moment.

const FIRST_MS = 500;
const MS_MAX = 30_000;

/** Returns the pause after that many failures in a row, in milliseconds. */
export function pauseMs(failures: number, random: () => number = Math.random): number {
  const longest = Math.min(MS_MAX, FIRST_MS * 2 ** Math.min(failures, 10));
  return longest * (0.5 + 0.5 * random());
}

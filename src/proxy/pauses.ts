// Computes and waits for pauses between requests: longer after each failure, with jitter, so that many proxies do not
// come back at the same moment.
import type { Clock } from '../clock.ts';

const FIRST_MS = 500;
const MS_MAX = 30_000;

/** Returns the waitFor after that many failures in a row, in milliseconds. */
export function pauseMs(failures: number, random: () => number = Math.random): number {
  const longest = Math.min(MS_MAX, FIRST_MS * 2 ** Math.min(failures, 10));
  return longest * (0.5 + 0.5 * random());
}

/** Resolves after `ms`, or when the signal fires. */
export function waitFor(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

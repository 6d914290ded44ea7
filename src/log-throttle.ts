// Bounds what strangers can write into the log: whoever reaches a listener can be refused thousands of times a second.
import type { Clock } from './clock.ts';

/** How many lines of one kind an interval has. */
const LINES_MAX = 10;
const INTERVAL_MS = 10_000;

export interface LogThrottle {
  /** Calls `write` now, or counts it: when the interval ends, `summarize` is told how many lines it left out. */
  log(write: () => void): void;
  /** Forgets the summary that is still to come. */
  stop(): void;
}

/** Returns a throttle: of each interval of ten seconds the first ten lines are written, and one that counts the others. */
export function throttleLog(clock: Clock, summarize: (leftOut: number) => void): LogThrottle {
  let written = 0;
  let leftOut = 0;
  let cancel: (() => void) | undefined;

  function endInterval(): void {
    const count = leftOut;
    cancel = undefined;
    written = 0;
    leftOut = 0;
    if (count > 0) summarize(count);
  }

  return {
    log(write) {
      cancel ??= clock.after(INTERVAL_MS, endInterval);
      if (written >= LINES_MAX) {
        leftOut += 1;
        return;
      }
      written += 1;
      write();
    },
    stop() {
      cancel?.();
      cancel = undefined;
    },
  };
}

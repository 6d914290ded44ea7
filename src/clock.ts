// Provides time as a parameter: the only file that reads the machine's clock, so that tests can replace it.

/** The longest timer of Node; longer waits fire early and are decided again. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Provides the current time and timers. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /**
   * Milliseconds since an arbitrary fixed moment; cannot be set. Only differences within one process are meaningful.
   * {@link after} measures by it.
   */
  monotonic(): number;
  /** Calls `wake` once after `ms`. The returned function cancels that. A pending call keeps no process alive. */
  after(ms: number, wake: () => void): () => void;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, wake) {
    const timer = setTimeout(wake, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

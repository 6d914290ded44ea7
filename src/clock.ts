// Time, handed in: the only place that asks the machine what time it is, so that tests can say it instead.

/** The longest that Node's timers wait; longer waits wake up early and are decided again. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /**
   * Milliseconds since some moment, which nobody can set: only differences mean anything, within one process. Waits of
   * {@link after} are measured by it.
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

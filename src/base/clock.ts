// Provides time as a parameter, so that tests can replace it. The only file that reads the machine's clock. Also waits
// by a given clock.
import { setImmediate } from 'node:timers/promises';

/** The longest timer of Node. A longer wait fires early, and its caller decides again. */
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
  /**
   * Calls `wake` once after `ms`. The returned function cancels that. A pending call does not keep the process alive.
   */
  after(ms: number, wake: () => void): () => void;
  /** Resolves in the next turn of the event loop, after sockets, files and other work. */
  nextTurn(): Promise<unknown>;
}

/** A moment by both clocks. The monotonic clock stands still while the machine sleeps; the wall clock may be set. */
export interface ClockTimes {
  readonly monotonic: number;
  readonly wall: number;
}

/** Returns the present moment. */
export function readClocks(clock: Pick<Clock, 'now' | 'monotonic'>): ClockTimes {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

/** Returns how long ago a moment was, by the clock that has moved further. */
export function msSince({ monotonic, wall }: ClockTimes, clock: Pick<Clock, 'now' | 'monotonic'>): number {
  return Math.max(clock.monotonic() - monotonic, clock.now() - wall);
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
  nextTurn: () => setImmediate(),
};

/** Resolves after `ms`, or when the signal fires. */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  const cancel = clock.after(ms, end);
  signal?.addEventListener('abort', end);
  if (signal?.aborted === true) end();
  await promise;
  cancel();
  signal?.removeEventListener('abort', end);
}

/** Resolves as `work` does, or with undefined after `ms`, while `work` continues. Throws what `work` throws. */
export async function within<Value>(clock: Clock, ms: number, work: Promise<Value>): Promise<Value | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(ms, () => resolve(undefined));
  try {
    return await Promise.race([work, promise]);
  } finally {
    cancel();
  }
}

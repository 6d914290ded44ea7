// Waits with a time limit, by a clock that the caller passes.
import type { Clock } from '../../clock.ts';

/** Resolves after so many milliseconds. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

/** Resolves as `work` does, or to undefined after `ms`; what is not heeded any more goes on. Throws what `work` throws. */
export async function within<Value>(clock: Clock, ms: number, work: Promise<Value>): Promise<Value | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(ms, () => resolve(undefined));
  try {
    return await Promise.race([work, promise]);
  } finally {
    cancel();
  }
}

// Runs long work in slices, so that requests are answered in between. docs/decisions/0067-work-in-slices.md.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from './clock.ts';
import type { Steps } from './model/steps.ts';

/** Other work runs after so many milliseconds. Several slices may share a turn of the event loop. */
export const WORK_SLICE_MS = 8;

/** Resolves with the result of work. It pauses between two steps whenever a slice is over; short work never pauses. */
export type RunInSlices = <Result>(steps: Steps<Result>) => Promise<Result>;

/** Returns a runner whose slices end by `clock`; `yieldToOthers` lets other work run. */
export function createSlices(
  clock: Pick<Clock, 'monotonic'>,
  yieldToOthers: () => Promise<unknown> = setImmediate,
): RunInSlices {
  return async (steps) => {
    let began = clock.monotonic();
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (clock.monotonic() - began < WORK_SLICE_MS) continue;
      await yieldToOthers();
      began = clock.monotonic();
    }
  };
}

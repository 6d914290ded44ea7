// Runs work in slices that end after every step.
import { setImmediate } from 'node:timers/promises';
import type { RunInSlices } from '../../src/base/slices.ts';

/** Returns a runner that lets other work run after every step, and then calls `between`. */
export function pausingSlices(between: () => void = () => undefined): RunInSlices {
  return async (steps) => {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await setImmediate();
      between();
    }
  };
}

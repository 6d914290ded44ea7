// Lets other work run at every place at which a long loop may pause.
import { setImmediate } from 'node:timers/promises';
import type { Breathe } from '../../src/base/breathe.ts';

/** Returns a function that pauses at each call, and then calls `between`. */
export function pausing(between: () => void = () => undefined): Breathe {
  return async () => {
    await setImmediate();
    between();
  };
}

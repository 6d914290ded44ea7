// Slices of long work as chance has them: a controller pauses in the middle of derivations and activations, and other events
// happen meanwhile. In the real one that takes thousands of servers.
import type { RunInSlices } from '../../src/base/slices.ts';
import { drawn } from './chance.ts';
import { type Life, never, type Scheduler } from './scheduler.ts';

/** The most steps until a pause: as many as some derivations have. */
const STEPS_MAX = 60;
const PAUSE_MS_MAX = 1_500;

/** Returns a function that returns the runner of a controller's work, until its life is over. */
export function simulatedSlices(scheduler: Scheduler, seed: number): (life: Life) => RunInSlices {
  let draws = 0;
  const draw = (below: number): number => Math.floor(drawn(seed, `slice ${draws++}`) * below);
  return (life) => async (steps) => {
    // Most work is one step.
    for (let left = Number.NaN; ; left -= 1) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (Number.isNaN(left)) left = draw(STEPS_MAX);
      if (left > 0) continue;
      await scheduler.pause(draw(PAUSE_MS_MAX), life);
      if (life.isOver) return await never();
      left = draw(STEPS_MAX);
    }
  };
}

// Pauses in long loops as chance has them: a controller pauses in the middle of derivations and activations, and other events
// happen meanwhile. In a real one that takes thousands of servers.
import type { Breathe } from '../../src/base/breathe.ts';
import { drawn } from './chance.ts';
import { type Life, never, type Scheduler } from './scheduler.ts';

/** The most calls until a pause: as many as some derivations make. */
const CALLS_MAX = 60;
const PAUSE_MS_MAX = 1_500;

/** Returns a function that returns the `breathe` of a controller, until its life is over. */
export function simulatedPauses(scheduler: Scheduler, seed: number): (life: Life) => Breathe {
  let draws = 0;
  const draw = (below: number): number => Math.floor(drawn(seed, `slice ${draws++}`) * below);
  return (life) => {
    let left = draw(CALLS_MAX);
    return async () => {
      left -= 1;
      if (left >= 0) return;
      left = draw(CALLS_MAX);
      await scheduler.pause(draw(PAUSE_MS_MAX), life);
      if (life.isOver) await never();
    };
  };
}

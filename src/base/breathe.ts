// Lets other work run during a long loop. Pure stages get the function as a parameter: they read no clock. See
// ARCHITECTURE.md, why.
import type { Clock } from './clock.ts';

/**
 * Returns undefined, or, if this turn of the event loop has lasted some milliseconds, a promise of a later turn. A loop
 * over all files, units, nodes or rows awaits it between items, so that requests are answered meanwhile. Its result
 * must not depend on it.
 */
export type Breathe = () => Promise<unknown> | undefined;

/** Never pauses: for the command line and for tests, where nothing else runs. */
export const withoutPause: Breathe = () => undefined;

/** Other work runs after so many milliseconds of a turn. */
export const TURN_MS = 8;

type TurnClock = Pick<Clock, 'monotonic' | 'nextTurn'>;

/** By clock: all work of a process that goes by the same clock shares its event loop. */
const known = new WeakMap<TurnClock, Breathe>();

/** Returns the function that all loops share which go by this clock. */
export function breatheBy(clock: TurnClock): Breathe {
  const breathe = known.get(clock) ?? createBreathe(clock);
  known.set(clock, breathe);
  return breathe;
}

function createBreathe(clock: TurnClock): Breathe {
  let began: number | undefined;
  return () => {
    const now = clock.monotonic();
    if (began === undefined) {
      began = now;
      // Registered before any loop waits, so that the first loop to resume begins the next turn.
      void clock.nextTurn().then(() => {
        began = undefined;
      });
    }
    return now - began >= TURN_MS ? clock.nextTurn() : undefined;
  };
}

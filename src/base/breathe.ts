// Lets other work run during a long loop. Pure stages get the function as a parameter, because they read no clock. See
// ARCHITECTURE.md, "Long loops".
import type { Clock } from './clock.ts';

/**
 * Returns undefined, or a promise of a later turn if this turn of the event loop has lasted some milliseconds. A loop
 * over all files, units, nodes or rows awaits it between items, so that requests are answered during the loop. The
 * result of the loop must not depend on it.
 */
export type Breathe = () => Promise<unknown> | undefined;

/** Never pauses. For the command line and tests, where nothing else runs. */
export const withoutPause: Breathe = () => undefined;

/** The length of a turn in milliseconds after which other work runs. */
export const TURN_MS = 8;

type TurnClock = Pick<Clock, 'monotonic' | 'nextTurn'>;

/** By clock: all loops of a process share one function, because they share the event loop. */
const known = new WeakMap<TurnClock, Breathe>();

/** Returns the function that all loops with this clock share. */
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

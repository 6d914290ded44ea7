// Lets other work run during a long loop. Pure stages get the function as a parameter: they read no clock. See ARCHITECTURE.md, why.
import type { Clock } from './clock.ts';

/**
 * Resolves at once, or in a later turn of the event loop if this turn has lasted some milliseconds. A loop over all files,
 * units, nodes or rows awaits it between items, so that requests are answered meanwhile. Its result must not depend on it.
 */
export type Breathe = () => Promise<void>;

/** Never pauses: for the command line and for tests, where nothing else runs. */
export const withoutPause: Breathe = async () => undefined;

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
  return async () => {
    const now = clock.monotonic();
    if (began === undefined) {
      began = now;
      // Registered before any loop waits, so that the first loop to resume begins the next turn.
      void clock.nextTurn().then(() => {
        began = undefined;
      });
    }
    if (now - began >= TURN_MS) await clock.nextTurn();
  };
}

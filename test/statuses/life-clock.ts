// The clock of a process that may be killed: its timers do nothing from then on.
import type { Clock } from '../../src/base/clock.ts';

/** Returns a clock whose timers wake nobody once `life` is over. */
export function clockOf(life: AbortSignal, real: Clock): Clock {
  return {
    now: () => real.now(),
    monotonic: () => real.monotonic(),
    after: (ms, wake) => real.after(ms, () => (life.aborted ? undefined : wake())),
    nextTurn: () => real.nextTurn(),
  };
}

// Limits how often hooks make the follower poll: the first hook at once, later ones together at the end of a pause.
import type { Clock } from '../../clock.ts';

interface Throttle {
  /** Asks for a poll. */
  ask(): void;
  /** Forgets a poll that is still to come. */
  stop(): void;
}

/** Returns the limit: two calls of `poll` are at least `pauseMs` apart. */
export function throttle(poll: () => void, { clock, pauseMs }: { clock: Clock; pauseMs: number }): Throttle {
  let cancelPause: (() => void) | undefined;
  let isAsked = false;

  function callAndPause(): void {
    isAsked = false;
    cancelPause = clock.after(pauseMs, () => {
      cancelPause = undefined;
      if (isAsked) callAndPause();
    });
    poll();
  }

  return {
    ask() {
      if (cancelPause === undefined) callAndPause();
      else isAsked = true;
    },
    stop() {
      cancelPause?.();
    },
  };
}

// Limits how often hooks make the follower look: the first hook at once, later ones together at the end of a pause.
import type { Clock } from '../../clock.ts';

export interface LookLimit {
  /** Asks for a look. */
  ask(): void;
  /** Forgets a look that is still to come. */
  stop(): void;
}

/** Returns the limit: two calls of `look` are at least `pauseMs` apart. */
export function limitLooks(look: () => void, { clock, pauseMs }: { clock: Clock; pauseMs: number }): LookLimit {
  let cancelPause: (() => void) | undefined;
  let isAsked = false;

  function lookAndPause(): void {
    isAsked = false;
    cancelPause = clock.after(pauseMs, () => {
      cancelPause = undefined;
      if (isAsked) lookAndPause();
    });
    look();
  }

  return {
    ask() {
      if (cancelPause === undefined) lookAndPause();
      else isAsked = true;
    },
    stop() {
      cancelPause?.();
    },
  };
}

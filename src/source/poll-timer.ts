// Says "look now" at a fixed pace: what no hint tells is found by the next poll.
import type { Clock } from '../clock.ts';
import type { Trigger } from './source.ts';

/** Returns a trigger that fires every `pollMs`, for the first time after that long. */
export function createPollTimer(pollMs: number, clock: Clock): Trigger {
  let cancel: (() => void) | undefined;
  return {
    start(poll) {
      cancel?.();
      const again = (): void => {
        cancel = clock.after(pollMs, () => {
          again();
          poll();
        });
      };
      again();
    },
    async stop() {
      cancel?.();
      cancel = undefined;
    },
  };
}

// Triggers a poll at a fixed interval: it finds the changes that other triggers miss.
import type { Clock } from '../clock.ts';
import type { Trigger } from './source.ts';

/** Returns a trigger that fires every `pollMs`, first after one interval. */
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

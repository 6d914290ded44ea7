// Corrects recorded times at a start, and whenever the clock is set. See clock-watch.ts and stamp-corrections.ts.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type ClockStep, ClockWatch } from './clock-watch.ts';
import type { CommitGate } from './commit-gate.ts';
import type { Ledger } from './ledger.ts';
import type { Reconciler } from './reconciler.ts';
import { stampCorrections } from './stamp-corrections.ts';

interface WatchedParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly ledger: Ledger;
  readonly gate: CommitGate;
  readonly reconciler: Pick<Reconciler, 'enqueue'>;
  /** The longest that a server waits for its next try. */
  readonly waitMsMax: number;
  /** See ClockWatch. */
  readonly compareMs?: number | undefined;
}

/**
 * Corrects recorded times that lie in the future, and returns a watch that repeats this whenever the clock is set.
 * `corrected` resolves once the first correction is durable; exclusive work requested later follows it.
 */
export function watchClock(parts: WatchedParts): { readonly watch: ClockWatch; readonly corrected: Promise<void> } {
  const { clock, log, ledger, reconciler, compareMs } = parts;
  const watch = new ClockWatch({
    ...{ clock, log, compareMs },
    correct: async (step) => {
      await correctStamps(parts, step);
      reconciler.enqueue(ledger.list('server').keys(), 'clock');
    },
  });
  return { watch, corrected: correctStamps(parts, { byMs: 0, since: clock.monotonic() }) };
}

function correctStamps({ ledger, gate, clock, waitMsMax }: WatchedParts, step: ClockStep): Promise<void> {
  return gate.exclusive(async () => {
    const sinceMs = clock.monotonic() - step.since;
    const changes = stampCorrections(ledger, { byMs: step.byMs, now: clock.now(), sinceMs, waitMsMax });
    if (changes.length > 0) await ledger.commit(changes);
  });
}

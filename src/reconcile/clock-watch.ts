// Detects jumps of the wall clock: it was set, or the machine slept. Waits are measured by the monotonic clock, but
// rows hold wall-clock time. At a start and after a step the rows are corrected (stamp-corrections.ts), and after a step all servers
// enqueued: what is due may be another one.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import type { CommitGate } from './commit-gate.ts';
import type { Ledger } from './ledger.ts';
import type { Reconciler } from './reconciler.ts';
import { stampCorrections } from './stamp-corrections.ts';

/** How often the two clocks are compared. */
const COMPARE_MS = 1_000;
/** Smaller corrections of the wall clock are ignored; NTP slews by less. */
const STEP_MS = 1_000;

/** One step of the wall clock. */
export interface ClockStep {
  /** How far it was set forward, in milliseconds; negative: back. */
  readonly byMs: number;
  /** It was not set before this time of the monotonic clock. */
  readonly since: number;
}

interface ClockWatchOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Corrects recorded times after a step, and enqueues every server that waits. */
  readonly correct: (step: ClockStep) => Promise<void>;
  /** Interval between comparisons of the two clocks; default: one second. */
  readonly compareMs?: number | undefined;
}

/** Compares the two clocks at an interval. */
export class ClockWatch {
  readonly #options: ClockWatchOptions;
  readonly #logOnceAMinute: LogOnceAMinute;
  #wall: number;
  #monotonic: number;
  /** The step that is not yet corrected in the rows. Further steps are looked for once it is. */
  #step: ClockStep | undefined;
  #cancel: () => void = () => undefined;
  #isStopped = false;

  constructor(options: ClockWatchOptions) {
    const { clock } = options;
    this.#options = options;
    this.#logOnceAMinute = logOnceAMinute(clock);
    this.#wall = clock.now();
    this.#monotonic = clock.monotonic();
    this.#compareLater();
  }

  /** Ends the comparisons. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #compareLater(): void {
    const { clock, compareMs = COMPARE_MS } = this.#options;
    if (!this.#isStopped) this.#cancel = clock.after(compareMs, () => this.#compare());
  }

  #compare(): void {
    this.#step ??= this.#findStep();
    if (this.#step === undefined) this.#compareLater();
    else void this.#correct(this.#step);
  }

  /** Never throws. A failed correction is tried again at the next comparison. */
  async #correct(step: ClockStep): Promise<void> {
    const { correct, log } = this.#options;
    try {
      await correct(step);
      this.#step = undefined;
    } catch (error) {
      const repeats = this.#logOnceAMinute(error);
      if (repeats) log.error({ err: error, ...repeats }, 'recorded times could not be corrected; it is tried again');
    }
    this.#compareLater();
  }

  /** Returns how far the wall clock has moved beyond the time elapsed since the last comparison; undefined: not far. */
  #findStep(): ClockStep | undefined {
    const { clock, log } = this.#options;
    const wall = clock.now();
    const monotonic = clock.monotonic();
    const since = this.#monotonic;
    const byMs = wall - this.#wall - (monotonic - since);
    this.#wall = wall;
    this.#monotonic = monotonic;
    if (Math.abs(byMs) <= STEP_MS) return undefined;
    log.warn({ stepMs: byMs }, 'the clock was set; what waits is looked at again');
    return { byMs, since };
  }
}

interface WatchedParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly ledger: Ledger;
  readonly gate: CommitGate;
  readonly reconciler: Pick<Reconciler, 'enqueue'>;
  /** The longest that a server waits for its next try. */
  readonly waitMsMax: number;
  /** See ClockWatchOptions. */
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

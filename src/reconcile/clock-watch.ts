// Detects jumps of the wall clock: it was set, or the machine slept. Waits are measured by the monotonic clock, but
// rows hold wall-clock time. After a step back the rows are corrected; after a step forward the servers that are due
// are enqueued.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { RepeatedErrors } from '../repeated-errors.ts';

/** How often the two clocks are compared. */
const COMPARE_MS = 1_000;
/** Smaller corrections of the wall clock are ignored; NTP slews by less. */
const STEP_MS = 1_000;

/** How far the clock was set back, milliseconds. */
export interface StepBack {
  readonly backMs: number;
  /** It was not set before this time of the monotonic clock. */
  readonly since: number;
}

interface ClockWatchOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Corrects recorded times after a step back, and enqueues every server that waits. */
  readonly correct: (step: StepBack) => Promise<void>;
  /** Enqueues every server that waits for a time. */
  readonly wake: () => void;
  /** Interval between comparisons of the two clocks; default: one second. */
  readonly compareMs?: number | undefined;
}

/** Compares the two clocks at an interval. */
export class ClockWatch {
  readonly #options: ClockWatchOptions;
  readonly #errors: RepeatedErrors;
  #wall: number;
  #monotonic: number;
  /** Steps back that are not yet corrected in the rows. */
  #backMs = 0;
  /** The last comparison before the first of them. */
  #since = 0;
  #cancel: () => void = () => undefined;
  #isStopped = false;

  constructor(options: ClockWatchOptions) {
    const { clock } = options;
    this.#options = options;
    this.#errors = new RepeatedErrors(clock);
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
    const { log, wake } = this.#options;
    const before = this.#monotonic;
    const stepMs = this.#takeStep();
    if (Math.abs(stepMs) > STEP_MS) log.warn({ stepMs }, 'the clock was set; what waits is looked at again');
    if (stepMs > STEP_MS) wake();
    if (stepMs < -STEP_MS) {
      if (this.#backMs === 0) this.#since = before;
      this.#backMs -= stepMs;
    }
    if (this.#backMs > 0) void this.#correct({ backMs: this.#backMs, since: this.#since });
    else this.#compareLater();
  }

  /** Never throws. A failed correction is tried again at the next comparison. */
  async #correct(step: StepBack): Promise<void> {
    const { correct, log } = this.#options;
    try {
      await correct(step);
      this.#backMs -= step.backMs;
    } catch (error) {
      const told = this.#errors.tell(error);
      if (told) log.error({ err: error, ...told }, 'recorded times could not be corrected; it is tried again');
    }
    this.#compareLater();
  }

  /** Returns how far the wall clock has moved beyond the time elapsed since the last comparison. */
  #takeStep(): number {
    const { clock } = this.#options;
    const wall = clock.now();
    const monotonic = clock.monotonic();
    const stepMs = wall - this.#wall - (monotonic - this.#monotonic);
    this.#wall = wall;
    this.#monotonic = monotonic;
    return stepMs;
  }
}

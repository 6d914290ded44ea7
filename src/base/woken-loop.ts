// Runs work, one run at a time: when it is woken, again if it was woken during a run, and at an interval if wake-ups
// may be lost. Knows nothing about the work.
import type { Clock } from './clock.ts';

/** How long a stop waits for running work. */
const STOP_MS = 3_000;

interface WokenLoopOptions {
  readonly clock: Clock;
  /** How long after a run, or the start, the next run begins at the latest. Omitted: only when woken. */
  readonly everyMs?: number;
  /** Does the due work. Must not throw. Returns true if more work is due. `signal` ends the work. */
  readonly work: (signal: AbortSignal) => Promise<boolean>;
}

/** A loop that runs when it is woken. */
export class WokenLoop {
  readonly #options: WokenLoopOptions;
  readonly #abort = new AbortController();
  /** When the next run begins, by the monotonic clock. During a run it has no timer. */
  #at = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #isStopping = false;

  constructor(options: WokenLoopOptions) {
    this.#options = options;
    this.#plan();
  }

  /** Starts a run within `ms` milliseconds. Further calls never postpone it. */
  wakeWithin(ms: number): void {
    const at = this.#options.clock.monotonic() + ms;
    if (this.#isStopping || this.#at <= at) return;
    this.#at = at;
    if (this.#running === undefined) this.#plan(ms);
  }

  /** Starts a run now, or another one after the current run. */
  wake(): void {
    if (this.#isStopping) return;
    if (this.#running === undefined) this.#run();
    else this.wakeWithin(0);
  }

  /** Runs the work once more, for some seconds at most, and then never again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#cancel?.();
    const ending = new Error('the controller is stopping');
    const cancel = this.#options.clock.after(STOP_MS, () => this.#abort.abort(ending));
    await this.#running;
    await this.#options.work(this.#abort.signal);
    cancel();
  }

  /** Starts no more runs. Resolves once the current run has ended. */
  async close(): Promise<void> {
    this.#isStopping = true;
    this.#cancel?.();
    this.#abort.abort();
    await this.#running;
  }

  /** `ms`: the time until the next run. */
  #plan(ms = this.#at - this.#options.clock.monotonic()): void {
    const { clock, everyMs = Number.POSITIVE_INFINITY } = this.#options;
    const waitMs = Math.max(0, Math.min(ms, everyMs));
    this.#cancel?.();
    if (this.#isStopping || !Number.isFinite(waitMs)) return;
    this.#at = clock.monotonic() + waitMs;
    this.#cancel = clock.after(waitMs, () => this.#run());
  }

  #run(): void {
    this.#cancel?.();
    this.#at = Number.POSITIVE_INFINITY;
    this.#running = this.#work().finally(() => {
      this.#running = undefined;
      this.#plan();
    });
  }

  async #work(): Promise<void> {
    if (await this.#options.work(this.#abort.signal)) this.wakeWithin(0);
  }
}

// Runs work, one run at a time: at moments that are asked for, again where something changed meanwhile, and at an
// interval where signs of a change can be lost. Knows nothing of the work.
import type { Clock } from './clock.ts';

/** How long a stop waits for the outside. */
const STOP_MS = 3_000;

interface WokenLoopOptions {
  readonly clock: Clock;
  /**
   * How long after a run the next one begins, at the latest; the first one, after the start. Left out: only when it is
   * woken.
   */
  readonly everyMs?: number;
  /** Does what is due. It must not throw. Returns true if more is due at once. `signal`: it is to end. */
  readonly work: (signal: AbortSignal) => Promise<boolean>;
}

/** A loop that runs when it is woken. */
export class WokenLoop {
  readonly #options: WokenLoopOptions;
  readonly #abort = new AbortController();
  /** When the next run begins, by the monotonic clock; during a run there is no timer for it yet. */
  #at = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #isStopping = false;

  constructor(options: WokenLoopOptions) {
    this.#options = options;
    this.#plan();
  }

  /** Has the work done within so many milliseconds. To ask again while that is waited for postpones nothing. */
  wakeWithin(ms: number): void {
    const at = this.#options.clock.monotonic() + ms;
    if (this.#isStopping || this.#at <= at) return;
    this.#at = at;
    if (this.#running === undefined) this.#plan(ms);
  }

  /** Has the work done now, and again after a run that is under way. */
  wake(): void {
    if (this.#isStopping) return;
    if (this.#running === undefined) this.#run();
    else this.wakeWithin(0);
  }

  /** Has the work done once more, within some seconds, and never again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#cancel?.();
    const ending = new Error('the controller is stopping');
    const cancel = this.#options.clock.after(STOP_MS, () => this.#abort.abort(ending));
    await this.#running;
    await this.#options.work(this.#abort.signal);
    cancel();
  }

  /** Has the work done no more. Resolves once a run under way has ended. */
  async close(): Promise<void> {
    this.#isStopping = true;
    this.#cancel?.();
    this.#abort.abort();
    await this.#running;
  }

  /** `ms`: until then, as far as is known. */
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

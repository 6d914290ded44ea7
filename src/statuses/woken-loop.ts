// Runs work that reports to the outside, one run at a time: at moments that are asked for, and again where something changed meanwhile.
// Knows neither what is reported nor to whom.
import type { Clock } from '../base/clock.ts';

/** How long a stop waits for the outside. */
const STOP_MS = 3_000;

interface WokenLoopOptions {
  readonly clock: Clock;
  /** Does what is due. It must not throw. Returns true if more is due at once. `signal`: ends requests under way. */
  readonly work: (signal: AbortSignal) => Promise<boolean>;
}

/** A loop that runs when it is woken. */
export class WokenLoop {
  readonly #options: WokenLoopOptions;
  readonly #abort = new AbortController();
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  #running: Promise<void> | undefined;
  /** Something changed while it was running. */
  #isWoken = false;
  #isStopping = false;

  constructor(options: WokenLoopOptions) {
    this.#options = options;
  }

  /** Has the work done within so many milliseconds. */
  wakeWithin(ms: number): void {
    const { clock } = this.#options;
    const at = clock.monotonic() + ms;
    if (this.#isStopping || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    this.#timer = { at, cancel: clock.after(ms, () => this.#run()) };
  }

  /** Has the work done now, and again after a run that is under way. */
  wake(): void {
    if (this.#isStopping) return;
    this.#timer?.cancel();
    this.#run();
  }

  /** Has the work done once more, within some seconds, and never again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#timer?.cancel();
    const ending = new Error('the controller is stopping');
    const cancel = this.#options.clock.after(STOP_MS, () => this.#abort.abort(ending));
    await this.#running;
    await this.#options.work(this.#abort.signal);
    cancel();
  }

  #run(): void {
    this.#timer = undefined;
    this.#isWoken = this.#running !== undefined;
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
      if (this.#isWoken) this.wakeWithin(0);
    });
  }

  async #work(): Promise<void> {
    if (await this.#options.work(this.#abort.signal)) this.#isWoken = true;
  }
}

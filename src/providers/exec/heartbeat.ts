// Watches whether the other side of a connection still answers. It counts beats without an answer instead of reading a
// clock: a process that was itself stopped, or busy, for long finds the answers that came meanwhile before its next beat.

/** Time between two beats. */
const BEAT_MS = 5000;
/** A minute: a process on a machine that swaps answers late, and to end it loses all of its calls. */
const MISSED_MAX = 12;

/** The question of a heartbeat, and its reaction to silence. */
interface HeartbeatOptions {
  /** Asks the other side for any message. */
  readonly ask: () => void;
  /** Called once the other side was silent for 12 beats; the heartbeat has stopped by then. */
  readonly onSilence: () => void;
  /** Default: 5 s. */
  readonly beatMs?: number | undefined;
}

/** A heartbeat, stopped at first. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #missed = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Begins to ask, unless it does so already. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#missed = 0;
    this.#timer = setInterval(() => this.#beat(), this.#options.beatMs ?? BEAT_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Notes that a message has come. */
  heard(): void {
    this.#missed = 0;
  }

  #beat(): void {
    if (this.#missed < MISSED_MAX) {
      this.#missed += 1;
      this.#options.ask();
      return;
    }
    this.stop();
    this.#options.onSilence();
  }
}

// An error that comes again and again, such as that of a full disk, is worth a line of the log now and then, not one for
// every try. Errors are the same where their words are.
import type { Clock } from '../clock.ts';

const QUIET_MS = 60_000;
/** The oldest of more are forgotten. */
const KEPT_MAX = 100;

/** What goes with the line of an error. */
export interface Told {
  /** How often it came since its last line; undefined where it did not. */
  readonly repeated: number | undefined;
}

interface Known {
  readonly toldAt: number;
  repeated: number;
}

export class RepeatedErrors {
  readonly #clock: Clock;
  /** By words, the longest known first. */
  readonly #known = new Map<string, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns what to log with an error, or undefined where it had a line within the last minute. */
  tell(error: unknown): Told | undefined {
    const words = error instanceof Error ? error.message : String(error);
    const now = this.#clock.monotonic();
    const known = this.#known.get(words);
    if (known !== undefined && now - known.toldAt < QUIET_MS) {
      known.repeated += 1;
      return undefined;
    }
    this.#known.delete(words);
    this.#known.set(words, { toldAt: now, repeated: 0 });
    const [oldest] = this.#known.keys();
    if (this.#known.size > KEPT_MAX && oldest !== undefined) this.#known.delete(oldest);
    return { repeated: known?.repeated || undefined };
  }
}

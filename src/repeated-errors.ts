// Throttles the log lines of an error that repeats, such as that of a full disk. Errors with the same message are the
// same.
import type { Clock } from './clock.ts';
import { reasonOf } from './model/quote.ts';

const QUIET_MS = 60_000;
/** Beyond this number the oldest errors are dropped. */
const KEPT_MAX = 100;

/** The fields that are logged with an error. */
interface Told {
  /** How often it occurred since its last line; undefined if it did not. */
  readonly repeated: number | undefined;
}

interface LoggedError {
  readonly toldAt: number;
  repeated: number;
}

/** Counts the repetitions of errors between the lines of the log. */
export class RepeatedErrors {
  readonly #clock: Clock;
  /** By message, oldest first. */
  readonly #known = new Map<string, LoggedError>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the fields to log with an error, or undefined if it was logged within the last minute. */
  tell(error: unknown): Told | undefined {
    const words = reasonOf(error);
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

// Throttles lines of the log: those that strangers cause, and those of an error that repeats.

import type { Clock } from './clock.ts';
import { keepNewest } from './lists.ts';
import { reasonOf } from './wording.ts';

/** The length of an interval, and the lines that are written in each. */
interface ThrottleLimits {
  readonly linesMax: number;
  readonly intervalMs: number;
}

const INTERVAL_MS = 10_000;
const LOG_LIMITS: ThrottleLimits = { linesMax: 10, intervalMs: INTERVAL_MS };

/** Writes a limited number of lines. */
export interface LogThrottle {
  /** Calls `write` now, or counts it: at the end of the interval, `summarize` gets the number of omitted lines. */
  log(write: () => void): void;
  /** Writes the pending summary at once. */
  stop(): void;
}

/**
 * Returns a throttle: of each interval it writes the first lines, ten in ten seconds if nothing else is said, and one that counts the others.
 */
export function throttleLog(
  clock: Clock,
  summarize: (leftOut: number) => void,
  { linesMax, intervalMs } = LOG_LIMITS,
): LogThrottle {
  let written = 0;
  let leftOut = 0;
  let cancel: (() => void) | undefined;

  function endInterval(): void {
    const count = leftOut;
    cancel = undefined;
    written = 0;
    leftOut = 0;
    if (count > 0) summarize(count);
  }

  return {
    log(write) {
      cancel ??= clock.after(intervalMs, endInterval);
      if (written >= linesMax) {
        leftOut += 1;
        return;
      }
      written += 1;
      write();
    },
    stop() {
      cancel?.();
      endInterval();
    },
  };
}

/**
 * Returns a function that notes that something happened under a key: `write` is called at once with 1, and at the end of the interval
 * with how often it happened since, if it did.
 */
export function countLog(clock: Clock): (key: string, write: (count: number) => void) => void {
  /** How often since the line, by key. */
  const counts = new Map<string, number>();
  return (key, write) => {
    const count = counts.get(key);
    counts.set(key, count === undefined ? 0 : count + 1);
    if (count !== undefined) return;
    write(1);
    clock.after(INTERVAL_MS, () => {
      const since = counts.get(key) ?? 0;
      counts.delete(key);
      if (since > 0) write(since);
    });
  };
}

const QUIET_MS = 60_000;
/** Beyond this number the oldest errors are dropped. */
const KEPT_MAX = 100;

/** The fields that are logged with an error. */
interface LogFields {
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
  fieldsToLog(error: unknown): LogFields | undefined {
    const words = reasonOf(error);
    const now = this.#clock.monotonic();
    const known = this.#known.get(words);
    if (known !== undefined && now - known.toldAt < QUIET_MS) {
      known.repeated += 1;
      return undefined;
    }
    keepNewest(this.#known, [words, { toldAt: now, repeated: 0 }], KEPT_MAX);
    return { repeated: known?.repeated || undefined };
  }
}

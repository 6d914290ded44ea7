// Throttles log lines about repeated errors and about faults that strangers cause.
import type { Clock } from './clock.ts';
import { reasonOf } from './wording.ts';

const MINUTE_MS = 60_000;
/** The most different lines within a minute, because strangers may have any number of addresses. */
const KEYS_MAX = 100;

/** The fields that are logged with a line. */
interface Repeats {
  /** How often this key was not logged since its last line; undefined if never. */
  readonly repeated: number | undefined;
  /** How many lines with other keys were not logged because 100 were logged within a minute; undefined if none. */
  readonly omitted: number | undefined;
}

/**
 * Returns the fields to log with a key or an error; undefined if it, or 100 others, were logged within the last minute.
 */
export type LogOnceAMinute = (key: unknown) => Repeats | undefined;

/** Returns a function that decides which lines of one kind are logged. */
export function logOnceAMinute(clock: Clock): LogOnceAMinute {
  /** By key, oldest line first. */
  const logged = new Map<string, { readonly at: number; repeated: number }>();
  let omitted = 0;
  return (key) => {
    const words = reasonOf(key);
    const now = clock.monotonic();
    const last = logged.get(words);
    if (last !== undefined && now - last.at < MINUTE_MS) {
      last.repeated += 1;
      return undefined;
    }
    logged.delete(words);
    const [oldest] = logged;
    if (logged.size >= KEYS_MAX && oldest !== undefined) {
      if (now - oldest[1].at < MINUTE_MS) {
        omitted += 1;
        return undefined;
      }
      logged.delete(oldest[0]);
    }
    logged.set(words, { at: now, repeated: 0 });
    const repeats = { repeated: last?.repeated || undefined, omitted: omitted || undefined };
    omitted = 0;
    return repeats;
  };
}

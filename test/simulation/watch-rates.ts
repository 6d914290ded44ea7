// Watches how often each server is called: a controller that asks for the same thing again at once would go on without end.
import type { Call } from '../../src/providers/provider.ts';
import type { Facts } from './facts.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Calls of one operation for one server in a minute: in 16,000 seeds it was 7 at most where nothing was disturbed, and 10
 * at most elsewhere. A careless site gets 18 of all operations together.
 */
const IN_A_MINUTE: Bound = { ms: MINUTE_MS, calls: 12, callsPerDisturbance: 2, words: 'a minute' };
/** Calls for one server in an hour. */
const IN_AN_HOUR: Bound = { ms: HOUR_MS, calls: 160, callsPerDisturbance: 14, words: 'an hour' };

/** How many calls a span of time may hold. */
interface Bound {
  readonly ms: number;
  /** Where nothing happened but failures. */
  readonly calls: number;
  /** More for everything that happened in the span or in one before it. */
  readonly callsPerDisturbance: number;
  readonly words: string;
}

export class RateWatch {
  readonly #facts: Facts;
  /** When calls began, in simulated time: for each server, and for each operation of a server. */
  readonly #calls = new Map<string, number[]>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** Looks at a call that begins. */
  began({ resource, operation }: Pick<Call, 'resource' | 'operation'>): void {
    this.#watch(resource, IN_AN_HOUR);
    this.#watch(`${operation} ${resource}`, IN_A_MINUTE);
  }

  #watch(calls: string, { ms, calls: most, callsPerDisturbance, words }: Bound): void {
    const { scheduler, disturbances } = this.#facts;
    const since = scheduler.now - ms;
    const times = (this.#calls.get(calls) ?? []).filter((time) => time > since);
    times.push(scheduler.now);
    this.#calls.set(calls, times);
    if (times.length <= most) return;
    const max = most + callsPerDisturbance * disturbances.filter((time) => time > since - ms).length;
    if (times.length <= max) return;
    const facts = `${times.length} for ${calls} within ${words}; the bound is ${max}`;
    this.#facts.fail('calls for one server stay below a bound', facts);
  }
}

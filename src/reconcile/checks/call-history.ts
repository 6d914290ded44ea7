// Counts the calls of each provider entry by minute, for the last hour. In memory of the process that calls, so it
// begins with the start of the process.
import type { Clock } from '../../base/clock.ts';

const STEP_MS = 60_000;
const STEPS = 60;

interface Step {
  /** Minutes since 1970. */
  readonly minute: number;
  calls: number;
  failures: number;
  seconds: number;
}

/** The calls of one entry in the last hour. Each list has 60 minutes, the current one last. */
export interface EntryCalls {
  readonly calls: readonly number[];
  /** Calls that failed or had no answer. */
  readonly failures: readonly number[];
  /** The mean duration; null if no call ended. */
  readonly seconds: readonly (number | null)[];
}

/** The calls of the last hour. */
export class CallHistory {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #steps = new Map<string, Step[]>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  note(entry: string, { isFailed, seconds }: { readonly isFailed: boolean; readonly seconds: number }): void {
    const minute = this.#minute();
    const steps = this.#steps.get(entry) ?? [];
    this.#steps.set(entry, steps);
    // After the clock was set back, calls count for the last step.
    const last = steps.at(-1);
    const step = last !== undefined && last.minute >= minute ? last : { minute, calls: 0, failures: 0, seconds: 0 };
    if (step !== last) steps.push(step);
    if (steps.length > STEPS) steps.shift();
    step.calls += 1;
    step.failures += isFailed ? 1 : 0;
    step.seconds += seconds;
  }

  of(entry: string): EntryCalls {
    const first = this.#minute() - STEPS + 1;
    const known = new Map(this.#steps.get(entry)?.map((step) => [step.minute, step]));
    const steps = Array.from({ length: STEPS }, (_, at) => known.get(first + at));
    return {
      calls: steps.map((step) => step?.calls ?? 0),
      failures: steps.map((step) => step?.failures ?? 0),
      seconds: steps.map((step) => (step === undefined ? null : Math.round((step.seconds / step.calls) * 1000) / 1000)),
    };
  }

  #minute(): number {
    return Math.floor(this.#clock.now() / STEP_MS);
  }
}

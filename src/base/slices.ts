// Runs long work in slices, so that requests are answered in between. docs/decisions/0037-work-in-slices.md.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from './clock.ts';
import type { Steps } from './steps.ts';

/** Other work runs after so many milliseconds. All slices of one turn of the event loop share them. */
export const WORK_SLICE_MS = 8;

/** Resolves with the result of work. It pauses between two steps whenever a slice is over; short work never pauses. */
export type RunInSlices = <Result>(steps: Steps<Result>) => Promise<Result>;

type MonotonicClock = Pick<Clock, 'monotonic'>;

/** The slice of each turn of the event loop. Those who use it up wait in line, and each later turn goes to one of them. */
export class WorkTurns {
  readonly #clock: MonotonicClock;
  readonly #yieldToOthers: () => Promise<unknown>;
  readonly #sliceMs: number;
  /** When the slice of this turn began; undefined: nothing has run in it. */
  #began: number | undefined;
  readonly #line: (() => void)[] = [];

  /** `yieldToOthers` resolves in the next turn. */
  constructor(
    clock: MonotonicClock,
    yieldToOthers: () => Promise<unknown> = setImmediate,
    sliceMs: number = WORK_SLICE_MS,
  ) {
    this.#clock = clock;
    this.#yieldToOthers = yieldToOthers;
    this.#sliceMs = sliceMs;
  }

  /** Returns true if the slice of this turn is over. Begins it where nothing has run in this turn. */
  isOver(): boolean {
    const now = this.#clock.monotonic();
    if (this.#began === undefined) {
      this.#began = now;
      void this.#passOn();
    }
    return now - this.#began >= this.#sliceMs;
  }

  /** Resolves in a later turn, which belongs to the caller. Must follow an {@link isOver} of the same turn. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#line.push(resolve);
    return promise;
  }

  async #passOn(): Promise<void> {
    await this.#yieldToOthers();
    // The slice began with what a socket or a file brought: the next sockets come before the slice that follows.
    if (this.#line.length > 0) await this.#yieldToOthers();
    for (let first = this.#line.shift(); first !== undefined; first = this.#line.shift()) {
      this.#began = this.#clock.monotonic();
      first();
      await this.#yieldToOthers();
    }
    this.#began = undefined;
  }
}

/** By clock: all work of a process that goes by the same clock shares its event loop. */
const turns = new WeakMap<MonotonicClock, WorkTurns>();

/** Returns the turns that all work shares which goes by this clock. */
export function turnsOf(clock: MonotonicClock): WorkTurns {
  const known = turns.get(clock) ?? new WorkTurns(clock);
  turns.set(clock, known);
  return known;
}

/** Returns a runner whose slices end by `clock`; tests hand in turns that they end themselves. */
export function createSlices(clock: MonotonicClock, workTurns: WorkTurns = turnsOf(clock)): RunInSlices {
  return async (steps) => {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (workTurns.isOver()) await workTurns.next();
    }
  };
}

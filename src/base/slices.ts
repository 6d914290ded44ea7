// Runs long work in slices, so that requests are answered in between. docs/decisions/0037-work-in-slices.md.
import { type Clock, systemClock } from './clock.ts';
import type { Steps } from './steps.ts';

/** Other work runs after so many milliseconds. All slices of one turn of the event loop share them. */
export const WORK_SLICE_MS = 8;

/** Resolves with the result of work. It pauses between two steps whenever a slice is over; short work never pauses. */
export type RunInSlices = <Result>(steps: Steps<Result>) => Promise<Result>;

type TurnClock = Pick<Clock, 'monotonic' | 'nextTurn'>;

/** The slice of each turn of the event loop. Those who use it up wait in line, and each later turn goes to one of them. */
export class WorkTurns {
  readonly #clock: TurnClock;
  readonly #sliceMs: number;
  /** When the slice of this turn began; undefined: nothing has run in it. */
  #began: number | undefined;
  readonly #line: (() => void)[] = [];

  constructor(clock: TurnClock, sliceMs: number = WORK_SLICE_MS) {
    this.#clock = clock;
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
    await this.#clock.nextTurn();
    // The slice began with what a socket or a file brought: the next sockets come before the slice that follows.
    if (this.#line.length > 0) await this.#clock.nextTurn();
    for (let first = this.#line.shift(); first !== undefined; first = this.#line.shift()) {
      this.#began = this.#clock.monotonic();
      first();
      await this.#clock.nextTurn();
    }
    this.#began = undefined;
  }
}

/** By clock: all work of a process that goes by the same clock shares its event loop. */
const turns = new WeakMap<TurnClock, WorkTurns>();

/** Returns the turns that all work shares which goes by this clock. */
export function turnsOf(clock: TurnClock): WorkTurns {
  const known = turns.get(clock) ?? new WorkTurns(clock);
  turns.set(clock, known);
  return known;
}

/** Those of work that has no clock handed in: `if (systemTurns.isOver()) await systemTurns.next();`. */
export const systemTurns = turnsOf(systemClock);

/** Returns a runner whose slices end by `clock`. */
export function createSlices(clock: TurnClock): RunInSlices {
  const workTurns = turnsOf(clock);
  return async (steps) => {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (workTurns.isOver()) await workTurns.next();
    }
  };
}

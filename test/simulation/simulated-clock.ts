// A clock for one controller: timers go by simulated time, and what it says the time is may be set forward and back.
import type { Clock } from '../../src/base/clock.ts';
import { type Life, oneTurn, type Scheduler } from './scheduler.ts';

/** What every clock of a run says when the run begins. */
const BEGIN = Date.parse('2026-11-20T10:00:00Z');

/** What a clock on the wall says; people and faults set it. */
export class WallTime {
  readonly #scheduler: Scheduler;
  #offset = BEGIN;
  /** How far it was set forward so far, all times together. */
  forwardMs = 0;
  /** When it was set last, in simulated time. */
  setAt = Number.NEGATIVE_INFINITY;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  now(): number {
    return this.#scheduler.now + this.#offset;
  }

  /** Sets it forward, or back where `ms` is less than 0. */
  step(ms: number): void {
    this.#offset += ms;
    this.forwardMs += Math.max(0, ms);
    this.setAt = this.#scheduler.now;
  }

  /** Sets it to what it would say if nobody had ever set it. */
  mend(): void {
    this.step(BEGIN - this.#offset);
  }
}

/** Returns the clock of a controller. */
export function clockOf(scheduler: Scheduler, wall: WallTime, life: Life): Clock {
  const clock = {
    now: () => wall.now(),
    monotonic: () => scheduler.now,
    after: (ms: number, wake: () => void) => scheduler.after(Number.isFinite(ms) ? ms : 2 ** 40, life, wake),
    nextTurn: oneTurn,
  };
  return clock;
}

// A clock that stands still until a test moves it. Time passes by `advance`; `setWall` sets the clock on the wall only.
import { type Clock, systemClock } from '../../src/base/clock.ts';

export class ManualClock implements Clock {
  #monotonic = 0;
  /** What the wall clock shows beyond the monotonic one. */
  #offset: number;
  #pending = new Set<{ readonly time: number; readonly wake: () => void }>();

  constructor(now = Date.parse('2026-11-20T10:13:56Z')) {
    this.#offset = now;
  }

  now(): number {
    return this.#monotonic + this.#offset;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, wake: () => void): () => void {
    const timer = { time: this.#monotonic + ms, wake };
    this.#pending.add(timer);
    return () => this.#pending.delete(timer);
  }

  /** A test may end the turns itself. */
  nextTurn: () => Promise<unknown> = () => systemClock.nextTurn();

  /** How many calls wait. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Somebody sets the clock: no time passes. */
  setWall(now: number): void {
    this.#offset = now - this.#monotonic;
  }

  /** Moves on, waking in order of time whoever waited no longer than `ms`. */
  advance(ms: number): void {
    this.#monotonic += ms;
    const due = [...this.#pending].filter(({ time }) => time <= this.#monotonic).sort((a, b) => a.time - b.time);
    for (const timer of due) {
      if (this.#pending.delete(timer)) timer.wake();
    }
  }
}

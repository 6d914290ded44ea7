// A clock that stands still until a test moves it.
import type { Clock } from '../../src/clock.ts';

export class ManualClock implements Clock {
  #now: number;
  #pending = new Set<{ readonly time: number; readonly wake: () => void }>();

  constructor(now = Date.parse('2026-11-20T10:13:56Z')) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, wake: () => void): () => void {
    const timer = { time: this.#now + ms, wake };
    this.#pending.add(timer);
    return () => this.#pending.delete(timer);
  }

  /** How many calls wait. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Moves on, waking in order of time whoever waited no longer than `ms`. */
  advance(ms: number): void {
    this.#now += ms;
    const due = [...this.#pending].filter(({ time }) => time <= this.#now).sort((a, b) => a.time - b.time);
    for (const timer of due) {
      if (this.#pending.delete(timer)) timer.wake();
    }
  }
}

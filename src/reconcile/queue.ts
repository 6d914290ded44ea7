// Queues names for passes. It contains names, never events: a pass reads the rows. Like client-go's workqueue, it never
// handles a name twice at the same time, and handles it once more if it was added during its handling.

import { type Breathe, breatheBy } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';

interface QueueOptions {
  readonly clock: Clock;
  /** The number of names that are handled concurrently. */
  readonly concurrency: number;
  /** Handles one name. Must not throw. */
  readonly handle: (name: string) => Promise<void>;
}

/** The timer of a name. */
interface Delay {
  /** By the monotonic clock. */
  readonly time: number;
  readonly cancel: () => void;
}

/** A queue of names that never handles a name twice at the same time. */
export class Queue {
  readonly #options: QueueOptions;
  readonly #breathe: Breathe;
  /** Disjoint from `#running`. */
  readonly #waiting = new Set<string>();
  /** One iterator is kept: each new one would skip over the holes of all removed names. */
  #next = this.#waiting.values();
  readonly #running = new Set<string>();
  /** Names that were added while running; a subset of `#running`. */
  readonly #again = new Set<string>();
  readonly #delays = new Map<string, Delay>();
  /** True while `#startMore` runs. */
  #isStarting = false;
  #isStopped = false;
  #idle: (() => void)[] = [];

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#breathe = breatheBy(options.clock);
  }

  /** Returns true if `name` is enqueued, delayed or running. */
  has(name: string): boolean {
    return this.#running.has(name) || this.#waiting.has(name) || this.#delays.has(name);
  }

  /** True if a delayed name is due and about to be enqueued. */
  get hasDue(): boolean {
    const now = this.#options.clock.monotonic();
    return this.#delays.values().some(({ time }) => time <= now);
  }

  /** Enqueues `name`. Cancels an earlier `addAfter` of it, because the pass sets a new one. */
  add(name: string): void {
    if (this.#isStopped) return;
    this.#endDelay(name);
    if (this.#running.has(name)) this.#again.add(name);
    else this.#waiting.add(name);
    void this.#startMore();
  }

  /** Enqueues `name` after `ms` milliseconds. Replaces an earlier `addAfter` of it. */
  addAfter(name: string, ms: number): void {
    if (this.#isStopped) return;
    this.#endDelay(name);
    const { clock } = this.#options;
    // Timers take whole milliseconds. One that is rounded down would fire before the name is due.
    const wholeMs = Math.max(0, Math.ceil(ms));
    const cancel = clock.after(wholeMs, () => this.add(name));
    this.#delays.set(name, { time: clock.monotonic() + wholeMs, cancel });
  }

  /** Accepts no more names, and resolves once all running handlers have ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    for (const name of [...this.#delays.keys()]) this.#endDelay(name);
    this.#waiting.clear();
    this.#again.clear();
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #endDelay(name: string): void {
    this.#delays.get(name)?.cancel();
    this.#delays.delete(name);
  }

  /** Breathes, because passes that await no I/O would otherwise all run in one turn of the event loop. */
  async #startMore(): Promise<void> {
    if (this.#isStarting) return;
    this.#isStarting = true;
    while (this.#running.size < this.#options.concurrency && this.#waiting.size > 0) {
      const pause = this.#breathe();
      if (pause !== undefined) {
        await pause;
        continue;
      }
      const name = this.#first();
      if (name === undefined) break;
      this.#waiting.delete(name);
      this.#running.add(name);
      void this.#run(name);
    }
    this.#isStarting = false;
  }

  #first(): string | undefined {
    const { value } = this.#next.next();
    if (value !== undefined) return value;
    this.#next = this.#waiting.values();
    return this.#next.next().value;
  }

  async #run(name: string): Promise<void> {
    await this.#options.handle(name);
    this.#running.delete(name);
    if (this.#again.delete(name)) this.#waiting.add(name);
    void this.#startMore();
    if (this.#running.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

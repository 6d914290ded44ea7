// Queues names for passes. It holds names, never events: a pass reads from the rows what has happened. After
// client-go's workqueue: one name is never handled twice at once, and once more if it was added meanwhile.

import { type Breathe, breatheBy } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';

interface QueueOptions {
  readonly clock: Clock;
  /** Number of names handled at once. */
  readonly concurrency: number;
  /** Handles one name. It must not throw. */
  readonly handle: (name: string) => Promise<void>;
}

/** The timer of a name. */
interface Delay {
  /** By the monotonic clock. */
  readonly time: number;
  readonly cancel: () => void;
}

/** A queue of names that never handles one name twice at once. */
export class Queue {
  readonly #options: QueueOptions;
  readonly #breathe: Breathe;
  /** Disjoint from `#running`. */
  readonly #waiting = new Set<string>();
  /** Kept: each new iterator would pass over the holes of all names that were taken. */
  #next = this.#waiting.values();
  readonly #running = new Set<string>();
  /** Added while running; a subset of `#running`. */
  readonly #again = new Set<string>();
  readonly #delays = new Map<string, Delay>();
  /** True while passes are being started, one after the other. */
  #isStarting = false;
  #isStopped = false;
  #idle: (() => void)[] = [];

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#breathe = breatheBy(options.clock);
  }

  /** Returns true if `name` is enqueued, also for later, or running. */
  has(name: string): boolean {
    return this.#running.has(name) || this.#waiting.has(name) || this.#delays.has(name);
  }

  /** True if the time of a name has come that is about to be enqueued. */
  get hasDue(): boolean {
    const now = this.#options.clock.monotonic();
    return this.#delays.values().some(({ time }) => time <= now);
  }

  /** Enqueues `name`. Drops an earlier `addAfter` of it: the pass sets a new one. */
  add(name: string): void {
    if (this.#isStopped) return;
    this.#endDelay(name);
    if (this.#running.has(name)) this.#again.add(name);
    else this.#waiting.add(name);
    void this.#startMore();
  }

  /** Enqueues `name` after `ms` milliseconds, in place of its last `addAfter`. */
  addAfter(name: string, ms: number): void {
    if (this.#isStopped) return;
    this.#endDelay(name);
    const { clock } = this.#options;
    // Timers take whole milliseconds: one that is rounded down would find nothing due.
    const wholeMs = Math.max(0, Math.ceil(ms));
    const cancel = clock.after(wholeMs, () => this.add(name));
    this.#delays.set(name, { time: clock.monotonic() + wholeMs, cancel });
  }

  /** Accepts no more names, and resolves when all running handlers have ended. */
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

  /** Passes that wait for nothing outside would otherwise all run in a single turn of the event loop. */
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

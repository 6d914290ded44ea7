// Queues names for passes. It holds names, never events: a pass reads from the rows what has happened. After
// client-go's workqueue: one name is never handled twice at once, and once more if it was added meanwhile.

import { type Breathe, breatheBy } from '../../base/breathe.ts';
import type { Clock } from '../../base/clock.ts';
import { IndexedHeap } from '../indexed-heap.ts';
import { NameQueue } from '../waits/name-queue.ts';

interface KeyedQueueOptions {
  readonly clock: Clock;
  /** Number of names handled at once. */
  readonly concurrency: number;
  /** Handles one name. It must not throw. */
  readonly handle: (name: string) => Promise<void>;
}

/** A queue of names that never handles one name twice at once. */
export class KeyedQueue {
  readonly #clock: Clock;
  readonly #concurrency: number;
  readonly #handle: (name: string) => Promise<void>;
  readonly #breathe: Breathe;
  /** In order of arrival. Disjoint from `#running`. */
  readonly #waiting = new NameQueue();
  readonly #running = new Set<string>();
  /** Added while running; a subset of `#running`. */
  readonly #again = new Set<string>();
  /** Minus the time of each name that is added later, by the monotonic clock: the first one is the next. */
  readonly #times = new IndexedHeap();
  /** The one timer for all of them. */
  #timer: { readonly time: number; readonly cancel: () => void } | undefined;
  /** True while passes are being started, one after the other. */
  #isStarting = false;
  #isStopped = false;
  #idle: (() => void)[] = [];

  constructor({ clock, concurrency, handle }: KeyedQueueOptions) {
    this.#clock = clock;
    this.#concurrency = concurrency;
    this.#handle = handle;
    this.#breathe = breatheBy(clock);
  }

  /** Number of names that are due and not running. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Returns true if `name` is due or running. */
  has(name: string): boolean {
    const time = -(this.#times.get(name) ?? Number.NEGATIVE_INFINITY);
    return this.#running.has(name) || this.#waiting.has(name) || time <= this.#clock.monotonic();
  }

  /** Enqueues `name`. Drops an earlier `addAfter` of it: the pass sets a new one. */
  add(name: string): void {
    if (this.#isStopped) return;
    this.#setTime(name, undefined);
    if (this.#running.has(name)) this.#again.add(name);
    else this.#waiting.add(name);
    void this.#startMore();
  }

  /** Enqueues `name` after `ms` milliseconds, in place of its last `addAfter`. */
  addAfter(name: string, ms: number): void {
    if (this.#isStopped) return;
    this.#setTime(name, this.#clock.monotonic() + Math.max(0, ms));
  }

  /** Accepts no more names, and resolves when all running handlers have ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#waiting.clear();
    this.#again.clear();
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #setTime(name: string, time: number | undefined): void {
    this.#times.set(name, time === undefined ? undefined : -time);
    this.#arm();
  }

  #arm(): void {
    const next = this.#times.first();
    const time = next === undefined ? undefined : -next.value;
    if (time === this.#timer?.time) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (time === undefined) return;
    // Timers take whole milliseconds: one that is rounded down would find nothing due.
    const inMs = Math.max(0, Math.ceil(time - this.#clock.monotonic()));
    this.#timer = { time, cancel: this.#clock.after(inMs, () => this.#onTime()) };
  }

  #onTime(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    const due: string[] = [];
    for (let next = this.#times.first(); next !== undefined && -next.value <= now; next = this.#times.first()) {
      due.push(next.name);
      this.#times.set(next.name, undefined);
    }
    this.#arm();
    for (const name of due) this.add(name);
  }

  /** Passes that wait for nothing outside would otherwise all run in a single turn of the event loop. */
  async #startMore(): Promise<void> {
    if (this.#isStarting) return;
    this.#isStarting = true;
    while (this.#running.size < this.#concurrency && this.#waiting.size > 0) {
      const pause = this.#breathe();
      if (pause !== undefined) {
        await pause;
        continue;
      }
      const name = this.#waiting.removeFirst();
      if (name === undefined) break;
      this.#running.add(name);
      void this.#run(name);
    }
    this.#isStarting = false;
  }

  async #run(name: string): Promise<void> {
    await this.#handle(name);
    this.#running.delete(name);
    if (this.#again.delete(name)) this.#waiting.add(name);
    void this.#startMore();
    if (this.#running.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

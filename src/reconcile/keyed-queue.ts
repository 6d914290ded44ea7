// Names that have to be looked at. It holds names, never events: what happened is read from the rows when the turn comes.
// After client-go's workqueue: one name is never handled twice at once, and once more if it was asked for meanwhile.
import type { Clock } from '../clock.ts';
import { NameLine } from './name-line.ts';

export interface KeyedQueueOptions {
  readonly clock: Clock;
  /** How many names are handled at once. */
  readonly concurrency: number;
  /** Handles one name. It must not throw. */
  readonly handle: (name: string) => Promise<void>;
}

interface Timer {
  /** By the monotonic clock. */
  readonly time: number;
  readonly cancel: () => void;
}

export class KeyedQueue {
  readonly #clock: Clock;
  readonly #concurrency: number;
  readonly #handle: (name: string) => Promise<void>;
  /** In order of asking. Disjoint from `#running`. */
  readonly #waiting = new NameLine();
  readonly #running = new Set<string>();
  /** Asked for while running; a part of `#running`. */
  readonly #again = new Set<string>();
  readonly #timers = new Map<string, Timer>();
  #isStopped = false;
  #idle: (() => void)[] = [];

  constructor({ clock, concurrency, handle }: KeyedQueueOptions) {
    this.#clock = clock;
    this.#concurrency = concurrency;
    this.#handle = handle;
  }

  /** Names waiting for their turn now. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Returns whether a look at `name` was asked for and is due, or is under way. */
  has(name: string): boolean {
    const time = this.#timers.get(name)?.time ?? Number.POSITIVE_INFINITY;
    return this.#running.has(name) || this.#waiting.has(name) || time <= this.#clock.monotonic();
  }

  /** Asks for a look at `name`, soon. An earlier `addAt` of it is forgotten: whoever looks sets a new one. */
  add(name: string): void {
    if (this.#isStopped) return;
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
    if (this.#running.has(name)) this.#again.add(name);
    else this.#waiting.add(name);
    this.#startMore();
  }

  /** Asks for a look at `name` in `ms` milliseconds, instead of the last such wish. */
  addAfter(name: string, ms: number): void {
    if (this.#isStopped) return;
    this.#timers.get(name)?.cancel();
    const cancel = this.#clock.after(ms, () => this.add(name));
    this.#timers.set(name, { time: this.#clock.monotonic() + ms, cancel });
  }

  /** Asks for a look at every name that waits for its time. */
  wakeTimed(): void {
    for (const name of [...this.#timers.keys()]) this.add(name);
  }

  /** Takes no more names, and resolves when those being handled are through. */
  stop(): Promise<void> {
    this.#isStopped = true;
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#waiting.clear();
    this.#again.clear();
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #startMore(): void {
    while (this.#running.size < this.#concurrency) {
      const name = this.#waiting.take();
      if (name === undefined) return;
      this.#running.add(name);
      void this.#run(name);
    }
  }

  async #run(name: string): Promise<void> {
    await this.#handle(name);
    this.#running.delete(name);
    if (this.#again.delete(name)) this.#waiting.add(name);
    this.#startMore();
    if (this.#running.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

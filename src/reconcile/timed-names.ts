// Calls back for each name when its time has come, with one timer for all of them.
import type { Clock } from '../clock.ts';
import { Latest } from './latest.ts';

/** Names, each with the time at which it is due. */
export class TimedNames {
  readonly #clock: Clock;
  readonly #onDue: (names: readonly string[]) => void;
  /** Minus the time of each name, by the monotonic clock: the first one is the next. */
  readonly #times = new Latest();
  #timer: { readonly time: number; readonly cancel: () => void } | undefined;
  #isStopped = false;

  /** `onDue` gets the names whose time has come, in order of time; they are removed before. */
  constructor(clock: Clock, onDue: (names: readonly string[]) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Sets when a name is due, in place of an earlier time. */
  set(name: string, inMs: number): void {
    this.#times.set(name, -(this.#clock.monotonic() + Math.max(0, inMs)));
    this.#arm();
  }

  /** Removes a name. */
  delete(name: string): void {
    this.#times.set(name, undefined);
    this.#arm();
  }

  /** Ends the timer; nothing is due any more. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    const time = this.#next();
    if (time === this.#timer?.time) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (time === undefined || this.#isStopped) return;
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
    this.#onDue(due);
  }

  #next(): number | undefined {
    const next = this.#times.first();
    return next === undefined ? undefined : -next.value;
  }
}

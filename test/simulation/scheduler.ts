// Simulated time: events in the order of their times, and nothing else that takes time. One event runs at a time, and
// everything that follows from it without waiting is through before the next one begins.

/** Whose events an end takes along: those of a controller die with it. */
export interface Life {
  isOver: boolean;
}

interface Event {
  time: number;
  readonly number: number;
  readonly life: Life | null;
  run: (() => void) | null;
}

export class Scheduler {
  /** Milliseconds since the simulation began; never goes back. */
  now = 0;
  /** How many events have run. */
  count = 0;
  /** A binary heap by time, then number. */
  readonly #events: Event[] = [];
  #numbers = 0;

  /** Has `run` called after so many milliseconds, unless its life is over by then. The returned function cancels it. */
  after(ms: number, life: Life | null, run: () => void): () => void {
    const event: Event = { time: this.now + Math.max(0, Math.round(ms)), number: this.#numbers++, life, run };
    this.#push(event);
    return () => {
      event.run = null;
    };
  }

  /** Resolves after so many milliseconds; never, where the life is over by then. */
  pause(ms: number, life: Life | null): Promise<void> {
    return new Promise((resolve) => void this.after(ms, life, resolve));
  }

  /** The time of the next event, or infinity. */
  get next(): number {
    for (let first = this.#events[0]; first !== undefined; first = this.#events[0]) {
      const { life, time } = first;
      if (first.run === null || life?.isOver === true) this.#pop();
      else return time;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Begins the next event; what follows from it at once is through when it is {@link quiet}. False: there is none until `end`. */
  begin(end: number): boolean {
    const time = this.next;
    if (time > end) {
      this.now = Math.max(this.now, end);
      return false;
    }
    const event = this.#pop();
    this.now = Math.max(this.now, time);
    this.count += 1;
    event?.run?.();
    return true;
  }

  #push(event: Event): void {
    const heap = this.#events;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      const above = heap[up];
      if (above === undefined || !isBefore(event, above)) break;
      heap[at] = above;
      at = up;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#events;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      let least = left;
      const [leftOne, rightOne] = [heap[left], heap[right]];
      if (leftOne === undefined) break;
      if (rightOne !== undefined && isBefore(rightOne, leftOne)) least = right;
      const child = heap[least];
      if (child === undefined || !isBefore(child, last)) break;
      heap[at] = child;
      at = least;
    }
    heap[at] = last;
    return first;
  }
}

/** Returns a promise that is never settled: the answer to a controller that is dead. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** How many turns are asked of the event loop at once. Between two of them it runs every microtask, and asks the machine nothing. */
const TURNS = 64;
/** Those who wait for a turn, in order. */
const waiting: (() => void)[] = [];
let turnsLeft = 0;

/** The most turns that may follow from one event. */
const TURNS_MAX = 100_000;

/** Resolves once every promise that can be settled without time is, and nobody waits for a turn any more. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    await oneTurn();
    if (waiting.length === 0) return;
  }
  throw new Error(`turns follow from turns without end: ${TURNS_MAX}`);
}

/**
 * Resolves in the next turn. Each turn of the event loop resolves one of those who wait, and begins only when no microtask
 * is left, so the same run takes the same turns.
 */
export function oneTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (turnsLeft === 0) askForTurns();
  });
}

/** Resolves after the last turn that was asked for: no run depends on what the one before it left over. */
export function lastTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

function askForTurns(): void {
  turnsLeft = TURNS;
  for (let turn = 0; turn < TURNS; turn += 1) setImmediate(takeTurn);
}

function takeTurn(): void {
  turnsLeft -= 1;
  waiting.shift()?.();
  if (turnsLeft === 0 && waiting.length > 0) askForTurns();
}

function isBefore(a: Event, b: Event): boolean {
  return a.time === b.time ? a.number < b.number : a.time < b.time;
}

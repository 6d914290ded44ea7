// Simulated time: events in the order of their times, and nothing else that takes time. One event runs at a time, and
// everything that follows from it without waiting is through before the next one begins.

/** Whose events an end takes along: those of a controller die with it. */
export interface Life {
  isOver: boolean;
}

interface Event {
  readonly time: number;
  readonly life: Life | null;
  run: (() => void) | null;
}

export class Scheduler {
  /** Milliseconds since the simulation began; never goes back. */
  now = 0;
  /** How many events have run. */
  count = 0;
  /** The next one is the last; of several of one time, the oldest. */
  readonly #events: Event[] = [];

  /** Has `run` called after so many milliseconds, unless its life is over by then. The returned function cancels it. */
  after(ms: number, life: Life | null, run: () => void): () => void {
    const event: Event = { time: this.now + Math.max(0, Math.round(ms)), life, run };
    const later = this.#events.findLastIndex(({ time }) => time > event.time);
    this.#events.splice(later + 1, 0, event);
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
    for (let next = this.#events.at(-1); next !== undefined; next = this.#events.at(-1)) {
      const { life, time } = next;
      if (next.run === null || life?.isOver === true) this.#events.pop();
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
    const event = this.#events.pop();
    this.now = Math.max(this.now, time);
    this.count += 1;
    event?.run?.();
    return true;
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

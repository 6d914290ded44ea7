// Has clients take turns in what is short, but often asked for: handling requests and sending pieces of long answers.
// ARCHITECTURE.md, "Fairness".
import { type Clock, systemClock } from '../base/clock.ts';
import { FairLine } from '../base/shares.ts';

/** So much of a turn of the event loop; enough for 40 common reads. */
const TURN_MS = 2;
/** So much of the time is one client's while others wait for what is urgent; what it has not used lately it may use at once. */
const SHARE = 0.2;
const SAVED_MS = 20;
/** How long work waits, at least, whose client has used up its share. */
const PAUSE_MS = 2;
/** Of so many clients it is kept what they have used. */
const CLIENTS_MAX = 10_000;

interface Work {
  readonly client: string;
  readonly work: () => void;
}

type TurnClock = Pick<Clock, 'monotonic' | 'nextTurn'>;

/** The slice of each turn of the event loop. Those who use it up wait in line, and each later turn goes to one of them. */
class WorkTurns {
  readonly #clock: TurnClock;
  readonly #sliceMs: number;
  /** When the slice of this turn began; undefined: nothing has run in it. */
  #began: number | undefined;
  readonly #line: (() => void)[] = [];

  constructor(clock: TurnClock, sliceMs: number) {
    this.#clock = clock;
    this.#sliceMs = sliceMs;
  }

  /** Returns true if the slice of this turn is over. Begins it where nothing has run in this turn. */
  isOver(): boolean {
    const now = this.#clock.monotonic();
    if (this.#began === undefined) {
      this.#began = now;
      void this.#passOn();
    }
    return now - this.#began >= this.#sliceMs;
  }

  /** Resolves in a later turn, which belongs to the caller. Must follow an {@link isOver} of the same turn. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#line.push(resolve);
    return promise;
  }

  async #passOn(): Promise<void> {
    await this.#clock.nextTurn();
    // The slice began with what a socket or a file brought: the next sockets come before the slice that follows.
    if (this.#line.length > 0) await this.#clock.nextTurn();
    for (let first = this.#line.shift(); first !== undefined; first = this.#line.shift()) {
      this.#began = this.#clock.monotonic();
      first();
      await this.#clock.nextTurn();
    }
    this.#began = undefined;
  }
}

/**
 * Does short work for 2 ms in each turn of the event loop; the rest follows in later turns, in which clients take turns. So neither
 * other clients nor what follows commits wait for all that one client asks for. Each of the many steps of a commit waits for a turn all
 * the same, and git for a processor: while one is followed, a client has only a share of the time.
 */
class ClientTurns {
  readonly #turns = new WorkTurns(systemClock, TURN_MS);
  readonly #line = new FairLine<Work>();
  /** By client, when it has its share of the time again that it has used. */
  readonly #repaid = new Map<string, number>();
  readonly #urgent = new Set<() => boolean>();
  #isWorking = false;
  #isPausing = false;

  /** Has clients keep to their shares while `isUrgent` returns true. The function that is returned ends that. */
  giveWay(isUrgent: () => boolean): () => void {
    this.#urgent.add(isUrgent);
    return () => void this.#urgent.delete(isUrgent);
  }

  /** Does work at once or in a later turn. It must not throw. */
  inTurn(client: string, work: () => void): void {
    const item = { client, work };
    const isNext = !this.#isWorking && this.#line.countOf(client) === 0 && this.#mayGo(item);
    if (isNext && !this.#turns.isOver()) {
      this.#do(item);
      return;
    }
    this.#line.add(client, item);
    if (!this.#isWorking) void this.#doAll();
  }

  #do({ client, work }: Work): void {
    const began = systemClock.monotonic();
    work();
    const now = systemClock.monotonic();
    const repaid = Math.max(this.#repaid.get(client) ?? 0, now - SAVED_MS / SHARE);
    if (this.#repaid.size >= CLIENTS_MAX) this.#repaid.clear();
    this.#repaid.set(client, repaid + (now - began) / SHARE);
  }

  #mayGo({ client }: Work): boolean {
    return !this.#isUrgent() || (this.#repaid.get(client) ?? 0) <= systemClock.monotonic();
  }

  #isUrgent(): boolean {
    for (const isUrgent of this.#urgent) if (isUrgent()) return true;
    return false;
  }

  async #doAll(): Promise<void> {
    this.#isWorking = true;
    const mayGo = (work: Work): boolean => this.#mayGo(work);
    for (let work = this.#line.takeNext(mayGo); work !== undefined; work = this.#line.takeNext(mayGo)) {
      if (this.#turns.isOver()) await this.#turns.next();
      this.#do(work);
    }
    this.#isWorking = false;
    if (this.#line.size > 0) this.#goOnLater();
  }

  #goOnLater(): void {
    if (this.#isPausing) return;
    this.#isPausing = true;
    systemClock.after(PAUSE_MS, () => {
      this.#isPausing = false;
      if (!this.#isWorking) void this.#doAll();
    });
  }
}

/** Those of this process. */
export const clientTurns = new ClientTurns();

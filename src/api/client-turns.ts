// Has clients take turns in what is short, but often asked for: handling requests, making lists, and sending pieces of long answers.
// docs/decisions/0031-shares.md.
import { systemClock } from '../base/clock.ts';
import { FairLine } from '../base/shares.ts';
import { WorkTurns } from '../base/slices.ts';
import type { Steps } from '../base/steps.ts';

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

  /** Resolves with the result of long work for a client, which is done beside its other work: what others wait for too is not behind that. */
  async make<Result>(client: string, steps: Steps<Result>): Promise<Result> {
    for (;;) {
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<unknown, Result>>();
      this.inTurn(`${client} makes`, () => {
        try {
          let step = steps.next();
          while (step.done !== true && !this.#turns.isOver()) step = steps.next();
          resolve(step);
        } catch (error) {
          reject(error);
        }
      });
      const step = await promise;
      if (step.done === true) return step.value;
    }
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

// Divides among clients what is limited: each client has its share, and clients that wait take turns. Knows neither requests
// nor what the work is. ARCHITECTURE.md, "Fairness".
import { ServiceError } from '../model/service-error.ts';
import { type Clock, systemClock } from './clock.ts';

/** What waits, by client. Clients take turns; of one client, what came first is first. */
export class FairLine<Item> {
  /** The client whose turn is next comes first. None is empty. */
  readonly #clients = new Map<string, Set<Item>>();

  /** Returns how many items of a client wait. */
  countOf(client: string): number {
    return this.#clients.get(client)?.size ?? 0;
  }

  get size(): number {
    let size = 0;
    for (const items of this.#clients.values()) size += items.size;
    return size;
  }

  add(client: string, item: Item): void {
    const items = this.#clients.get(client) ?? new Set();
    this.#clients.set(client, items.add(item));
  }

  remove(client: string, item: Item): void {
    const items = this.#clients.get(client);
    items?.delete(item);
    if (items?.size === 0) this.#clients.delete(client);
  }

  /** Removes and returns the first item of the next client, if that item may go; else of the next client whose item may. */
  takeNext(mayGo: (item: Item) => boolean = () => true): Item | undefined {
    for (const [client, items] of this.#clients) {
      for (const item of items) {
        if (!mayGo(item)) break;
        this.#clients.delete(client);
        items.delete(item);
        if (items.size > 0) this.#clients.set(client, items);
        return item;
      }
    }
    return undefined;
  }

  /** Removes and returns at most so many items, in the order of their turns. */
  takeUpTo(countMax: number): readonly Item[] {
    const items: Item[] = [];
    while (items.length < countMax) {
      const item = this.takeNext();
      if (item === undefined) break;
      items.push(item);
    }
    return items;
  }
}

/** The limits of one kind of work. */
export interface ShareLimits {
  /** How many pieces of it are at work at once, of all clients together. */
  readonly atOnce: number;
  /** How many of them are one client's. Less than `atOnce`, so that no client keeps the others away. */
  readonly ofClient: number;
  /** How many pieces of one client wait for their turn; more are refused. */
  readonly waitingOfClient: number;
}

/** One request for work. */
export interface Asker {
  /** What tells its client from others, as the fingerprint of its certificate. */
  readonly client: string;
  /** Requests with the same question get the result of one piece of work, which begins after all of them were made. */
  readonly question?: string;
  /** Returns true once no client waits for the result. Left out: one does. */
  readonly isGone?: () => boolean;
}

/** Work that waits for its turn, and all requests of one client for it. */
interface Piece {
  readonly client: string;
  readonly question: unknown;
  readonly work: () => Promise<unknown>;
  readonly askers: Asker[];
  readonly result: PromiseWithResolvers<unknown>;
}

/** Work of one kind, divided among clients. */
export class Shares {
  readonly #limits: ShareLimits;
  readonly #clock: Pick<Clock, 'nextTurn'>;
  readonly #line = new FairLine<Piece>();
  /** The pieces that wait, by question and by client. */
  readonly #waiting = new Map<unknown, Map<string, Piece>>();
  /** Questions at work: an equal one waits for the end, since its answer may not be older than itself. */
  readonly #questions = new Set<unknown>();
  readonly #atWork = new Map<string, number>();
  #count = 0;

  constructor(limits: ShareLimits, clock: Pick<Clock, 'nextTurn'> = systemClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * Resolves with the result of `work` once the client had its turn; with undefined where all who asked were gone before, and
   * nothing was done. Throws ServiceError `too_many_requests` where the client waits too often already.
   */
  run<Result>(asker: Asker & { readonly isGone?: never }, work: () => Promise<Result>): Promise<Result>;
  run<Result>(asker: Asker, work: () => Promise<Result>): Promise<Result | undefined>;
  run<Result>(asker: Asker, work: () => Promise<Result>): Promise<Result | undefined> {
    const { client, question = Symbol() } = asker as Asker & { readonly question?: unknown };
    const equal = this.#waiting.get(question)?.get(client);
    if (equal !== undefined) {
      equal.askers.push(asker);
      return equal.result.promise as Promise<Result | undefined>;
    }
    const piece: Piece = { client, question, work, askers: [asker], result: Promise.withResolvers() };
    if (!this.#mayBegin(piece) && this.#line.countOf(client) >= this.#limits.waitingOfClient) throw this.#tooMany();
    this.#line.add(client, piece);
    this.#waiting.set(question, (this.#waiting.get(question) ?? new Map()).set(client, piece));
    this.#beginNext();
    return piece.result.promise as Promise<Result | undefined>;
  }

  #tooMany(): ServiceError {
    const { ofClient, waitingOfClient } = this.#limits;
    const waiting = waitingOfClient === 0 ? '' : `, and ${waitingOfClient} more may wait`;
    const share = `a client has ${ofClient} requests like this one at once${waiting}`;
    const message = `Too many requests: ${share}; ask again once one of them is answered`;
    return new ServiceError('too_many_requests', message);
  }

  #mayBegin({ client, question }: Piece): boolean {
    const { atOnce, ofClient } = this.#limits;
    return this.#count < atOnce && (this.#atWork.get(client) ?? 0) < ofClient && !this.#questions.has(question);
  }

  #beginNext(): void {
    const mayGo = (piece: Piece): boolean => this.#mayBegin(piece);
    for (let piece = this.#line.takeNext(mayGo); piece !== undefined; piece = this.#line.takeNext(mayGo)) {
      const equal = [...(this.#waiting.get(piece.question)?.values() ?? [])];
      this.#waiting.delete(piece.question);
      for (const each of equal) this.#line.remove(each.client, each);
      const isWanted = equal.some(({ askers }) => askers.some(({ isGone }) => isGone?.() !== true));
      if (isWanted) void this.#carryOut(piece, equal);
      else for (const { result } of equal) result.resolve(undefined);
    }
  }

  /** Does one piece of work for all who asked for it. Never throws: who asked gets the error. */
  async #carryOut({ client, question, work }: Piece, equal: readonly Piece[]): Promise<void> {
    this.#questions.add(question);
    this.#adjust(client, 1);
    try {
      const done = await work();
      for (const { result } of equal) result.resolve(done);
    } catch (error) {
      for (const { result } of equal) result.reject(error);
    }
    // Others have their turn before work that waited: many short pieces would follow one another in one turn.
    if (this.#waiting.size > 0) await this.#clock.nextTurn();
    this.#questions.delete(question);
    this.#adjust(client, -1);
    this.#beginNext();
  }

  #adjust(client: string, change: 1 | -1): void {
    this.#count += change;
    const atWork = (this.#atWork.get(client) ?? 0) + change;
    if (atWork === 0) this.#atWork.delete(client);
    else this.#atWork.set(client, atWork);
  }
}

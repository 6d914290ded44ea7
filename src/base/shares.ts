// Limits how much work of one kind each client has at once. Knows neither requests nor what the work is.
// ARCHITECTURE.md, "Fairness".
import { ServiceError } from '../model/service-error.ts';

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

  /** Removes and returns the first item of the next client. */
  takeNext(): Item | undefined {
    for (const [client, items] of this.#clients) {
      for (const item of items) {
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
  /** How many pieces of it one client has at work at once. */
  readonly ofClient: number;
  /** How many more of one client wait; further ones are refused. */
  readonly waitingOfClient: number;
}

interface ClientWork {
  atWork: number;
  readonly waiting: (() => void)[];
}

/** Work of one kind. Of one client, what came first is first. */
export class Shares {
  readonly #limits: ShareLimits;
  /** Clients with work. */
  readonly #clients = new Map<string, ClientWork>();

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** Resolves with the result of `work`. Throws ServiceError `too_many_requests` if too much work of the client waits. */
  async run<Result>(client: string, work: () => Promise<Result>): Promise<Result> {
    await this.#begin(client);
    try {
      return await work();
    } finally {
      this.#end(client);
    }
  }

  async #begin(client: string): Promise<void> {
    const { ofClient, waitingOfClient } = this.#limits;
    const own = this.#clients.get(client) ?? { atWork: 0, waiting: [] };
    this.#clients.set(client, own);
    if (own.atWork < ofClient) {
      own.atWork += 1;
      return;
    }
    if (own.waiting.length >= waitingOfClient) throw this.#tooMany();
    const { promise, resolve } = Promise.withResolvers<void>();
    own.waiting.push(resolve);
    await promise;
  }

  #end(client: string): void {
    const own = this.#clients.get(client);
    if (own === undefined) return;
    const next = own.waiting.shift();
    // The place goes to the one that waited.
    if (next !== undefined) next();
    else own.atWork -= 1;
    if (own.atWork === 0) this.#clients.delete(client);
  }

  #tooMany(): ServiceError {
    const { ofClient, waitingOfClient } = this.#limits;
    const waiting = waitingOfClient === 0 ? '' : `, and ${waitingOfClient} more may wait`;
    const share = `a client has ${ofClient} requests like this one at once${waiting}`;
    const message = `Too many requests: ${share}; ask again once one of them is answered`;
    return new ServiceError('too_many_requests', message);
  }
}

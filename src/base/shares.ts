// Limits the concurrent work of each client. Knows nothing about the work. ARCHITECTURE.md, "Fairness".
import { ServiceError } from '../model/service-error.ts';

/** The limits of one kind of work. */
export interface ShareLimits {
  /** How many tasks of one client run concurrently. */
  readonly ofClient: number;
  /** How many more tasks of one client wait; further ones are refused. */
  readonly waitingOfClient: number;
}

interface ClientWork {
  atWork: number;
  readonly waiting: (() => void)[];
}

/** Tasks of one kind. The tasks of one client begin in order of arrival. */
export class Shares {
  readonly #limits: ShareLimits;
  /** Clients with work. */
  readonly #clients = new Map<string, ClientWork>();

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /**
   * Resolves with the result of `work`. Throws ServiceError `too_many_requests` if too much work of the client waits.
   */
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
    // The next waiting task takes over the slot.
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

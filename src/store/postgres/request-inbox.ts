// Takes the requests that other replicas have written into the database, has them carried out, and writes the answers
// back. Only the leader does that. See requests.ts for the side that asks; what a request means is not known here.
import { type Clock, pause, systemClock, within } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { reasonOf } from '../../base/wording.ts';
import type { ForwardedAnswer, ForwardedRequest } from '../../model/forwarded-request.ts';
import { StoreError } from '../store-error.ts';
import type { DatabaseConnections, DatabaseOptions, RunStatement } from './connection.ts';
import { connectForRequests, REQUEST_LIMITS, type RequestLimits } from './requests.ts';
import { ANSWER_REQUEST, GIVE_UP_REQUESTS, REMOVE_OLD_REQUESTS, TAKE_REQUESTS, WANTED_REQUESTS } from './statements.ts';
import type { Wakes } from './wakes.ts';

/** The leadership, and what carries requests out. */
export interface RequestInboxOptions {
  readonly wakes: Pick<Wakes, 'listen' | 'notify'>;
  /** That of this leadership. No process has it twice. */
  readonly fencing: number;
  /** Returns whether this process leads, at the moment of the call. */
  readonly leads: () => boolean;
  /**
   * Returns the answer. Rejects where it is not known what became of the request, and once `signal` fires: nobody waits
   * any more.
   */
  readonly carryOut: (request: ForwardedRequest, signal: AbortSignal) => Promise<ForwardedAnswer>;
  readonly clock?: Clock;
  readonly log: Logger;
  readonly limits?: Partial<Pick<RequestLimits, 'pollMs' | 'awayMs' | 'openMax'>>;
}

/** A request that this leader carries out, or has carried out. */
interface Claimed {
  readonly asker: string;
  readonly gone: AbortController;
  /**
   * Undefined while it is carried out; null where nobody knows what became of it, or the answer is not kept any more.
   */
  answer?: ForwardedAnswer | null;
}

/** Claimed at once: each may bring a large body. */
const TAKEN_AT_ONCE = 50;

/** The requests of other replicas, for one leadership. */
export class RequestInbox {
  readonly #connections: DatabaseConnections;
  readonly #options: RequestInboxOptions;
  readonly #clock: Clock;
  readonly #limits: Pick<RequestLimits, 'pollMs' | 'awayMs' | 'openMax'>;
  readonly #claimed = new Map<string, Claimed>();
  readonly #stopListening: () => void;
  readonly #running: Promise<void>;
  #attention = new AbortController();
  #isTaking = true;
  #isEnded = false;
  /** Monotonic: when it is looked again for what nobody waits for any more. */
  #nextCheck = 0;
  /** Monotonic: since when the database is away. */
  #awaySince: number | undefined;

  /** Takes requests from now on, until {@link stop}. */
  constructor(database: DatabaseOptions, options: RequestInboxOptions) {
    this.#connections = connectForRequests(database);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#limits = { ...REQUEST_LIMITS, ...options.limits };
    this.#stopListening = options.wakes.listen('request', () => this.#attention.abort());
    this.#running = this.#run();
  }

  /** Takes no more, and waits at most so long until what was taken is answered. Then it is ended without an answer. */
  async stop(withinMs: number): Promise<void> {
    this.#isTaking = false;
    this.#stopListening();
    this.#attention.abort();
    await within(this.#clock, withinMs, this.#running);
    this.#isEnded = true;
    for (const { gone } of this.#claimed.values()) gone.abort();
    this.#attention.abort();
    await this.#running;
    await this.#connections.close();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    while (!this.#isEnded && (this.#isTaking || this.#claimed.size > 0)) {
      this.#attention = new AbortController();
      const isMore = await this.#exchange();
      const isOver = !this.#isTaking && this.#claimed.size === 0;
      if (!isMore && !isOver && !this.#isEnded) await pause(this.#clock, this.#limits.pollMs, this.#attention.signal);
    }
  }

  /** Writes answers, and takes new requests. Returns true where more of them wait. */
  async #exchange(): Promise<boolean> {
    const answered = [...this.#claimed].filter(([, { answer }]) => answer !== undefined);
    const isCheck = this.#clock.monotonic() >= this.#nextCheck;
    const capacity = this.#isTaking && this.#options.leads() ? this.#limits.openMax - this.#claimed.size : 0;
    const count = Math.max(0, Math.min(capacity, TAKEN_AT_ONCE));
    try {
      const { claimed, gone, givenUp } = await this.#connections.write(async (run) => {
        for (const [id, { answer }] of answered) await this.#answer(run, id, answer ?? null);
        return {
          gone: isCheck ? await this.#findGone(run) : [],
          givenUp: isCheck && count > 0 ? await this.#clear(run) : [],
          claimed: count > 0 ? await run(TAKE_REQUESTS, [this.#options.fencing, count, [...this.#claimed.keys()]]) : [],
        };
      });
      this.#awaySince = undefined;
      if (isCheck) this.#nextCheck = this.#clock.monotonic() + this.#limits.pollMs;
      for (const [id] of answered) this.#claimed.delete(id);
      for (const id of gone) this.#forget(id);
      this.#notify([...answered.map(([, { asker }]) => asker), ...givenUp]);
      for (const row of claimed) this.#begin(row);
      return claimed.length > 0 && claimed.length === count;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#fail(error);
      return false;
    }
  }

  async #answer(run: RunStatement, id: string, answer: ForwardedAnswer | null): Promise<void> {
    const head = answer === null ? '' : JSON.stringify({ status: answer.status, headers: answer.headers });
    await run(ANSWER_REQUEST, [id, this.#options.fencing, head, answer?.body ?? null]);
  }

  /** Returns the ids of requests under way for which nobody waits any more. */
  async #findGone(run: RunStatement): Promise<readonly string[]> {
    const open = [...this.#claimed].filter(([, { answer }]) => answer === undefined).map(([id]) => id);
    if (open.length === 0) return [];
    const wanted = new Set((await run(WANTED_REQUESTS, [open, this.#options.fencing])).map(([id]) => String(id)));
    return open.filter((id) => !wanted.has(id));
  }

  /** Answers what an earlier leader has left, and removes what was not fetched. Returns who has to be told. */
  async #clear(run: RunStatement): Promise<readonly string[]> {
    await run(REMOVE_OLD_REQUESTS);
    return (await run(GIVE_UP_REQUESTS, [this.#options.fencing])).map(([asker]) => String(asker));
  }

  #begin([id, asker, request, body]: readonly unknown[]): void {
    const claimed: Claimed = { asker: String(asker), gone: new AbortController() };
    this.#claimed.set(String(id), claimed);
    void this.#carryOut(claimed, [id, request, body]);
  }

  /** Never rejects, whatever is in the row: else each leader would end with it, one after the other. */
  async #carryOut(claimed: Claimed, [id, request, body]: readonly unknown[]): Promise<void> {
    const { carryOut, leads, log } = this.#options;
    try {
      const asked = { id, ...JSON.parse(String(request)), body } as ForwardedRequest;
      // This process may have slept since it has taken the request.
      if (!leads()) throw new Error('the lease is over');
      claimed.answer = await carryOut(asked, claimed.gone.signal);
    } catch (error) {
      if (!claimed.gone.signal.aborted) log.warn({ err: error, request: id }, 'a forwarded request has no answer');
      claimed.answer = null;
    }
    this.#attention.abort();
  }

  #forget(id: string): void {
    this.#claimed.get(id)?.gone.abort();
    this.#claimed.delete(id);
  }

  #notify(askers: readonly string[]): void {
    for (const asker of new Set(askers)) this.#options.wakes.notify('answer', asker);
  }

  /** Replicas that wait for answers give up after a while themselves; then answers only take memory. */
  #fail(error: StoreError): void {
    const now = this.#clock.monotonic();
    if (this.#awaySince === undefined) {
      const reason = reasonOf(error);
      this.#options.log.warn({ reason }, 'requests of other replicas cannot be read from the database');
    }
    this.#awaySince ??= now;
    if (now - this.#awaySince < this.#limits.awayMs) return;
    // Known on, so that none is taken again.
    for (const claimed of this.#claimed.values()) if (claimed.answer !== undefined) claimed.answer = null;
  }
}

// Carries requests of clients from replicas that do not lead to the leader, and its answers back, as rows of the
// database: there are no connections between replicas. This is the side that asks; request-inbox.ts answers. Knows
// nothing of HTTP, clients or rights.
import { randomUUID } from 'node:crypto';
import { type Clock, pause, systemClock, within } from '../../base/clock.ts';
import type { ForwardedAnswer, ForwardedRequest } from '../../model/forwarded-request.ts';
import { ServiceError } from '../../model/service-error.ts';
import { StoreError } from '../store-error.ts';
import { DatabaseConnections, type DatabaseOptions, type RunStatement } from './connection.ts';
import { LostCommit } from './postgres-error.ts';
import { ADD_REQUEST, OWN_ANSWERS, OWN_REQUESTS, REMOVE_LATE_REQUESTS, REMOVE_REQUESTS } from './statements.ts';
import type { Wakes } from './wakes.ts';

/** How long is waited, in milliseconds, and for how many. */
export interface RequestLimits {
  /** Until a leader takes a request. Long enough for another replica to take over. */
  readonly takeMs: number;
  /** Then until it is answered. */
  readonly answerMs: number;
  /** Between two looks at the table where no wake comes. */
  readonly pollMs: number;
  /** While the database is away. */
  readonly awayMs: number;
  /** Requests that wait for an answer. */
  readonly openMax: number;
}

/** The limits, but for tests. */
export const REQUEST_LIMITS: RequestLimits = {
  takeMs: 20_000,
  answerMs: 90_000,
  pollMs: 1_000,
  awayMs: 10_000,
  openMax: 2_500,
};
/** Each statement is small; what takes longer is a database that hangs. */
const STATEMENT_LIMITS = { connectMs: 5_000, statementMs: 5_000, lockMs: 5_000 };
const POOL_SIZE = 2;
const STOPPING = 'This replica is stopping';

/** The other replicas, by the database that all of them share. */
export interface LeaderRequestsOptions {
  readonly wakes: Pick<Wakes, 'listen' | 'notify'>;
  /** The name of this replica. */
  readonly replica: string;
  readonly clock?: Clock;
  readonly limits?: Partial<RequestLimits>;
}

/** A request that waits for its answer. */
interface Open {
  readonly request: ForwardedRequest;
  readonly isRead: boolean;
  /** Monotonic. */
  readonly deadline: number;
  readonly answered: PromiseWithResolvers<ForwardedAnswer | undefined>;
  /** True once its row may be there. */
  isSent: boolean;
}

/** Opens the connections of a side of the table. */
export function connectForRequests(database: DatabaseOptions): DatabaseConnections {
  return new DatabaseConnections({
    ...database,
    poolSize: POOL_SIZE,
    limits: { ...STATEMENT_LIMITS, ...database.limits },
  });
}

/** Asks the leader, whichever replica that is. */
export class LeaderRequests {
  readonly #connections: DatabaseConnections;
  readonly #options: LeaderRequestsOptions;
  readonly #clock: Clock;
  readonly #limits: RequestLimits;
  /** Names this process in the table: two replicas may have one name by mistake. */
  readonly #asker = randomUUID();
  readonly #open = new Map<string, Open>();
  /** Rows that nobody needs any more. */
  readonly #removed = new Set<string>();
  readonly #stopListening: () => void;
  #attention = new AbortController();
  #working: Promise<void> | undefined;
  #isStopping = false;
  /** Monotonic: when the rows are looked through for those that nobody took, and those that are gone. */
  #nextCheck = 0;
  /** Monotonic: since when the database is away. */
  #awaySince: number | undefined;

  constructor(database: DatabaseOptions, options: LeaderRequestsOptions) {
    this.#connections = connectForRequests(database);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#limits = { ...REQUEST_LIMITS, ...options.limits };
    this.#stopListening = options.wakes.listen('answer', (asker) => {
      if (asker === '' || asker === this.#asker) this.#attention.abort();
    });
  }

  /**
   * Resolves with the leader's answer, or with undefined once `signal` fires: then the leader ends the request too,
   * unless it is done. What changes something is carried out once at most. Throws ServiceError `not_ready` where it was
   * not carried out, for one of these reasons: no leader has taken it in time, the database is away, or too many
   * requests wait; and `outcome_unknown` where nobody knows.
   */
  async send(request: ForwardedRequest, signal: AbortSignal): Promise<ForwardedAnswer | undefined> {
    if (this.#isStopping) throw notDone(STOPPING);
    if (this.#open.size >= this.#limits.openMax) throw notDone('Too many requests wait for the leader');
    if (signal.aborted) return undefined;
    const open: Open = {
      request,
      isRead: request.method === 'GET' || request.method === 'HEAD',
      deadline: this.#clock.monotonic() + this.#limits.takeMs + this.#limits.answerMs,
      answered: Promise.withResolvers(),
      isSent: false,
    };
    const leave = (): void => {
      this.#end(open, { answer: undefined });
      // The leader ends what nobody waits for once its row is gone.
      this.#exchangeNow();
    };
    signal.addEventListener('abort', leave);
    this.#open.set(request.id, open);
    this.#exchangeNow();
    try {
      return await open.answered.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Refuses what only reads and what no leader has taken, and waits at most so long for the rest. Never rejects. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopping = true;
    for (const open of this.#open.values()) {
      if (open.isRead || !open.isSent) this.#end(open, { error: notDone(STOPPING) });
    }
    this.#exchangeNow();
    await within(this.#clock, withinMs, this.#working ?? Promise.resolve());
    for (const open of this.#open.values()) this.#end(open, { error: failure(open, STOPPING) });
  }

  /** What waits fails, and its rows are removed. */
  async close(): Promise<void> {
    this.#stopListening();
    await this.stop(0);
    this.#exchangeNow();
    await this.#working;
    await this.#connections.close();
  }

  #exchangeNow(): void {
    this.#attention.abort();
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
      // What came in the last turn.
      if (this.#isBusy()) this.#exchangeNow();
    });
  }

  #isBusy(): boolean {
    return this.#open.size > 0 || (this.#removed.size > 0 && this.#awaySince === undefined);
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    while (this.#isBusy()) {
      this.#attention = new AbortController();
      await this.#exchange();
      if (this.#isBusy()) await pause(this.#clock, this.#limits.pollMs, this.#attention.signal);
    }
  }

  /** Adds what is new, and reads what was answered. */
  async #exchange(): Promise<void> {
    const added = [...this.#open.values()].filter(({ isSent }) => !isSent);
    for (const open of added) open.isSent = true;
    const removed = [...this.#removed];
    const isCheck = this.#clock.monotonic() >= this.#nextCheck;
    // Those that come meanwhile are not in the table yet.
    const known = [...this.#open.values()];
    try {
      const found = await this.#connections.write(async (run) => {
        for (const { request, isRead } of added) await this.#add(run, request, isRead);
        if (removed.length > 0) await run(REMOVE_REQUESTS, [removed, this.#asker]);
        const isStopping = this.#isStopping;
        const late = isCheck || isStopping ? await run(REMOVE_LATE_REQUESTS, [this.#asker, isStopping]) : [];
        const there = isCheck ? await run(OWN_REQUESTS, [this.#asker]) : undefined;
        return { late, there, answers: await run(OWN_ANSWERS, [this.#asker]) };
      });
      this.#awaySince = undefined;
      for (const id of removed) this.#removed.delete(id);
      if (isCheck) this.#nextCheck = this.#clock.monotonic() + this.#limits.pollMs;
      if (added.length > 0) this.#options.wakes.notify('request');
      for (const [id, answer, body] of found.answers) this.#receive(String(id), String(answer), body as Buffer | null);
      for (const [id] of found.late) this.#endLate(String(id));
      if (found.there !== undefined) this.#findLost(known, new Set(found.there.map(([id]) => String(id))));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#fail(added, error);
    }
    this.#endOverdue();
  }

  async #add(run: RunStatement, { id, body, ...rest }: ForwardedRequest, isRead: boolean): Promise<void> {
    const { takeMs, answerMs } = this.#limits;
    const row = [id, this.#asker, this.#options.replica, isRead, JSON.stringify(rest), body, takeMs, takeMs + answerMs];
    await run(ADD_REQUEST, row);
  }

  #receive(id: string, answer: string, body: Buffer | null): void {
    const open = this.#open.get(id);
    if (open === undefined) this.#removed.add(id);
    else if (answer === '') this.#end(open, { error: failure(open, 'The replica that led has ended meanwhile') });
    else this.#end(open, { answer: { ...JSON.parse(answer), body: body ?? new Uint8Array() } });
  }

  #endLate(id: string): void {
    const open = this.#open.get(id);
    const seconds = this.#limits.takeMs / 1_000;
    const late = `No replica leads, or the leader has taken no request for ${seconds} s: /leaderz and the logs of the replicas tell more`;
    if (open !== undefined) this.#end(open, { error: notDone(this.#isStopping ? STOPPING : late) });
  }

  /** A row is gone that nobody here has removed: the database has crashed, or was set back. */
  #findLost(known: readonly Open[], there: ReadonlySet<string>): void {
    for (const open of known) {
      if (there.has(open.request.id) || !this.#open.has(open.request.id)) continue;
      // What only reads is asked again.
      if (open.isRead) open.isSent = false;
      else this.#end(open, { error: failure(open, 'The database has lost this request') });
    }
  }

  /** The database is away. What was not added is refused at once; the rest may be answered yet. */
  #fail(added: readonly Open[], error: StoreError): void {
    const now = this.#clock.monotonic();
    this.#awaySince ??= now;
    const isLong = this.#isStopping || now - this.#awaySince >= this.#limits.awayMs;
    for (const open of added) {
      // Else the database may have it, and the leader may have begun: it is never added again.
      if (!(error instanceof LostCommit)) this.#end(open, { error: notDone(error.message) });
    }
    for (const open of isLong ? this.#open.values() : []) {
      this.#end(open, { error: failure(open, error.message) });
    }
  }

  #endOverdue(): void {
    const now = this.#clock.monotonic();
    for (const open of this.#open.values()) {
      if (now < open.deadline) continue;
      this.#end(open, { error: failure(open, 'The leader has not answered in time') });
    }
  }

  #end(
    open: Open,
    { answer, error }: { readonly answer?: ForwardedAnswer | undefined; readonly error?: ServiceError },
  ): void {
    const { id } = open.request;
    if (!this.#open.delete(id)) return;
    if (open.isSent) this.#removed.add(id);
    if (error === undefined) open.answered.resolve(answer);
    else open.answered.reject(error);
  }
}

function notDone(reason: string): ServiceError {
  return new ServiceError('not_ready', `${sentence(reason)} Nothing was done; ask again`);
}

/** Returns the error for a request that is not answered. */
function failure({ request: { id }, isRead, isSent }: Open, reason: string): ServiceError {
  if (isRead || !isSent) return notDone(reason);
  return new ServiceError(
    'outcome_unknown',
    `${sentence(reason)} Nobody knows whether the request was carried out: look before you ask again. The commit of a write has the ` +
      `line "Treeline-Request-Id: ${id}"`,
  );
}

function sentence(reason: string): string {
  return reason.endsWith('.') ? reason : `${reason}.`;
}

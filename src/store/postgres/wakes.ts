// Wakes the processes that share a database, by LISTEN and NOTIFY. A wake makes a process look earlier than it would by
// itself, and nothing else: behind a pooler in transaction mode none comes, and the database may lose some.
import { type Clock, pause, systemClock } from '../../base/clock.ts';
import { invariant } from '../../base/invariant.ts';
import type { Logger } from '../../base/log.ts';
import { reasonOf } from '../../base/wording.ts';
import { DatabaseConnections, type DatabaseOptions, type KeptConnection } from './connection.ts';
import { LISTEN, NOTIFY } from './statements.ts';

/** What a wake is about. */
export type Topic = 'commit' | 'lease' | 'request' | 'answer';

/** The clock, the log, and pauses that tests lower. */
export interface WakesOptions {
  readonly clock?: Clock;
  readonly log?: Logger | undefined;
  /** Between two tries to connect, in milliseconds. */
  readonly pauseMs?: number;
  /** After so many milliseconds without a statement it is tried whether the connection still works. */
  readonly checkMs?: number;
}

const PAUSE_MS = 1_000;
const CHECK_MS = 15_000;
const LIMITS = { statementMs: 4_000, answerMs: 1_000 };
/** Wakes that wait to be sent; further ones are dropped. */
const WAITING_MAX = 1_000;
/** In bytes. PostgreSQL takes 7,999 with the topic. */
const PAYLOAD_BYTES_MAX = 7_900;

/** A connection of its own that listens and sends. It connects at once, and again after each loss. */
export class Wakes {
  readonly #connections: DatabaseConnections;
  readonly #options: Required<Omit<WakesOptions, 'log'>> & Pick<WakesOptions, 'log'>;
  readonly #listeners = new Map<string, Set<(payload: string) => void>>();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  /** What is to be sent; undefined while there is no connection. */
  #waiting: Set<string> | undefined;
  /** Fires when there is something to send, or the connection is lost. */
  #attention = new AbortController();
  #isFailing = false;

  constructor(database: DatabaseOptions, options: WakesOptions = {}) {
    this.#connections = new DatabaseConnections({ ...database, limits: { ...database.limits, ...LIMITS } });
    this.#options = { clock: systemClock, pauseMs: PAUSE_MS, checkMs: CHECK_MS, ...options };
    this.#running = this.#run();
  }

  /**
   * Calls `wake` with the payload of each wake about a topic that any process sends, this one too. After each
   * connecting it is called with an empty payload, since some may have been missed. `wake` must not throw. Returns what
   * ends this.
   */
  listen(topic: Topic, wake: (payload: string) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners);
    // Of its own, since the same function may listen twice.
    const listener = (payload: string): void => wake(payload);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /**
   * Wakes all that listen for the topic, in every process. Does not wait: wakes that come while others are being sent
   * go together, equal ones once. Without a connection nothing is sent.
   */
  notify(topic: Topic, payload = ''): void {
    invariant(Buffer.byteLength(payload) <= PAYLOAD_BYTES_MAX, 'a wake carries a name, and not what it is about');
    if (this.#waiting === undefined || this.#waiting.size >= WAITING_MAX) return;
    this.#waiting.add(`${topic} ${payload}`);
    this.#attention.abort();
  }

  /** What waits is sent first, where there is a connection. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#attention.abort();
    await this.#running;
    await this.#connections.close();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock, pauseMs, log } = this.#options;
    while (!this.#closing.signal.aborted) {
      try {
        await this.#exchange();
      } catch (error) {
        if (!this.#isFailing)
          log?.info({ reason: reasonOf(error) }, 'no wakes come through the database; it is polled');
        this.#isFailing = true;
      }
      await pause(clock, pauseMs, this.#closing.signal);
    }
  }

  /** Connects, listens and sends until the connection is lost. */
  async #exchange(): Promise<void> {
    let isLost = false;
    const connection = await this.#connections.open(
      (text) => this.#wake(text),
      () => {
        isLost = true;
        this.#attention.abort();
      },
    );
    try {
      await connection.run(LISTEN);
      this.#isFailing = false;
      this.#waiting = new Set();
      for (const topic of this.#listeners.keys()) this.#wake(topic);
      while (!isLost && !this.#closing.signal.aborted) await this.#send(connection);
      if (!isLost) await connection.run(NOTIFY, [[...this.#waiting]]);
    } finally {
      this.#waiting = undefined;
      await connection.close();
    }
  }

  /** Sends what waits, or nothing after a while, which shows whether the connection still works. */
  async #send(connection: KeptConnection): Promise<void> {
    const { clock, checkMs } = this.#options;
    const waiting = this.#waiting ?? new Set();
    if (waiting.size === 0) await pause(clock, checkMs, this.#attention.signal);
    this.#attention = new AbortController();
    const texts = [...waiting];
    waiting.clear();
    await connection.run(NOTIFY, [texts]);
  }

  #wake(text: string): void {
    const [topic = ''] = text.split(' ', 1);
    for (const listener of this.#listeners.get(topic) ?? []) listener(text.slice(topic.length + 1));
  }
}

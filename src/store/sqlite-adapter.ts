// Connects lowdb's document with a SQLite file in a thread. A batch is one transaction, and one message unless it is
// large.
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Breathe } from '../base/breathe.ts';
import { reasonOf } from '../base/wording.ts';
import type { EventRange, ListedPage } from '../model/instance-event.ts';
import type { DatabaseUse } from './database.ts';
import type { Reply, Request, Requests, ThreadError } from './database-thread.ts';
import { type DocumentAdapter, emptyStoreDocument, readRows, type StoreDocument } from './store-document.ts';
import { StoreError, StoreUnavailable } from './store-error.ts';

const THREAD = `${fileURLToPath(new URL('./database-thread', import.meta.url))}${extname(import.meta.filename)}`;

/** The limit of rows in one message, which is copied within one turn of the event loop. */
const MESSAGE_ROWS = 1_000;

/** A thread with an open database; `close` ends it. */
export class SqliteAdapter implements DocumentAdapter {
  readonly #use: DatabaseUse;
  readonly #breathe: Breathe;
  readonly #worker = new Worker(THREAD, { resourceLimits: { maxYoungGenerationSizeMb: 8 } });
  /** The unanswered requests, in order. */
  readonly #waiting: PromiseWithResolvers<unknown>[] = [];
  #broken: StoreError | undefined;

  constructor(use: DatabaseUse, breathe: Breathe) {
    this.#use = use;
    this.#breathe = breathe;
    this.#worker.unref();
    this.#worker.on('message', (reply: Reply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#break(reasonOf(error)));
    this.#worker.on('exit', () => this.#break('it ended'));
  }

  async read(): Promise<StoreDocument> {
    const document = emptyStoreDocument();
    const { rows, ...state } = await this.#request('open', this.#use);
    await readRows(document.tables, rows, { path: this.#use.path, breathe: this.#breathe });
    return Object.assign(document, state);
  }

  async write({ unsaved }: StoreDocument): Promise<void> {
    if (unsaved === undefined) return;
    const { rows } = unsaved;
    let sent = 0;
    for (; rows.length - sent > MESSAGE_ROWS; sent += MESSAGE_ROWS)
      await this.#request('add', rows.slice(sent, sent + MESSAGE_ROWS));
    await this.#request('save', { ...unsaved, rows: rows.slice(sent) });
  }

  events(range: EventRange): Promise<ListedPage> {
    return this.#request('events', range);
  }

  async close(): Promise<void> {
    if (this.#broken !== undefined) return;
    try {
      await this.#request('close', undefined);
    } finally {
      this.#broken = new StoreError(`${this.#use.path} is closed`);
      await this.#worker.terminate();
    }
  }

  async #request<Ask extends keyof Requests>(ask: Ask, of: Requests[Ask]['of']): Promise<Requests[Ask]['answer']> {
    if (this.#broken !== undefined) throw this.#broken;
    const waiting = Promise.withResolvers<unknown>();
    this.#worker.postMessage({ ask, of } as Request);
    this.#waiting.push(waiting);
    this.#worker.ref();
    return (await waiting.promise) as Requests[Ask]['answer'];
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#worker.unref();
    if ('answer' in reply) waiting?.resolve(reply.answer);
    else waiting?.reject(errorOf(reply.error));
  }

  #break(reason: string): void {
    if (this.#broken !== undefined) return;
    this.#broken = new StoreError(
      `The thread that keeps ${this.#use.path} has failed: ${reason}. Nothing more is saved. Restart Treeline: it reads ` +
        'what was saved.',
    );
    for (const { reject } of this.#waiting) reject(this.#broken);
  }
}

function errorOf({ message, kind, system }: ThreadError): Error {
  if (kind === 'StoreUnavailable') return new StoreUnavailable(message);
  return kind === 'StoreError' ? new StoreError(message) : Object.assign(new Error(message), system);
}

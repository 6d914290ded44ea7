// Connects lowdb's document with a SQLite file, which a thread keeps. lowdb's read() loads the rows and events, its
// write() replaces all of them, and commit() saves what changes.
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Breathe } from '../base/breathe.ts';
import { reasonOf } from '../base/wording.ts';
import type { DatabaseUse } from './database.ts';
import type { Reply, Request, Requests, ThreadError } from './database-thread.ts';
import { cutIntoPieces, type DocumentAdapter, DocumentReader, linesToKeep } from './document-adapter.ts';
import type { Piece, Saved } from './piece.ts';
import { emptyStoreDocument, type StoreDocument } from './store-document.ts';
import { StoreError, StoreUnavailable } from './store-error.ts';

const THREAD = `${fileURLToPath(new URL('./database-thread', import.meta.url))}${extname(import.meta.filename)}`;

/** A thread with an open database; `close` ends it. */
export class SqliteAdapter implements DocumentAdapter {
  readonly #use: DatabaseUse;
  readonly #breathe: Breathe;
  readonly #worker = new Worker(THREAD, { resourceLimits: { maxYoungGenerationSizeMb: 8 } });
  #waiting: PromiseWithResolvers<unknown> | undefined;
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
    document.revision = await this.#request('open', { use: this.#use });
    const reader = new DocumentReader(document, this.#use.path);
    for (let batch = await this.#request('next', {}); batch !== undefined; batch = await this.#request('next', {})) {
      reader.add(batch);
      await this.#breathe();
    }
    return document;
  }

  async write(document: StoreDocument): Promise<void> {
    await this.#save(document.revision, cutIntoPieces(linesToKeep(document), this.#breathe), 'whole');
  }

  commit(revision: number, pieces: AsyncIterable<Piece>): Promise<Saved> {
    return this.#save(revision, pieces, 'commit');
  }

  revision(): Promise<number> {
    return this.#request('revision', {});
  }

  async close(): Promise<void> {
    if (this.#broken !== undefined) return;
    try {
      await this.#request('close', {});
    } finally {
      this.#broken = new StoreError(`${this.#use.path} is closed`);
      await this.#worker.terminate();
    }
  }

  async #save(revision: number, pieces: AsyncIterable<Piece>, how: 'commit' | 'whole'): Promise<Saved> {
    let begins: 'commit' | 'whole' | undefined = how;
    try {
      for await (const piece of pieces) {
        await this.#request('put', { piece, revision, begins });
        begins = undefined;
      }
      return await this.#request('finish', { revision });
    } catch (error) {
      if (this.#broken === undefined) await this.#request('cancel', {});
      throw error;
    }
  }

  /** One request at a time. */
  async #request<Ask extends keyof Requests>(
    ask: Ask,
    request: Omit<Requests[Ask], 'answer'>,
  ): Promise<Requests[Ask]['answer']> {
    if (this.#broken !== undefined) throw this.#broken;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting = waiting;
    this.#worker.ref();
    this.#worker.postMessage({ ask, ...request } as unknown as Request);
    return (await waiting.promise) as Requests[Ask]['answer'];
  }

  #settle(reply: Reply): void {
    this.#worker.unref();
    if ('answer' in reply) this.#waiting?.resolve(reply.answer);
    else this.#waiting?.reject(errorOf(reply.error));
  }

  #break(reason: string): void {
    if (this.#broken !== undefined) return;
    this.#broken = new StoreError(
      `The thread that keeps ${this.#use.path} has failed: ${reason}. Nothing more is saved. Restart Treeline: it reads ` +
        'what was saved.',
    );
    this.#waiting?.reject(this.#broken);
  }
}

function errorOf({ message, kind, system }: ThreadError): Error {
  if (kind === 'StoreUnavailable') return new StoreUnavailable(message);
  return kind === 'StoreError' ? new StoreError(message) : Object.assign(new Error(message), system);
}

// Connects lowdb's document with a SQLite file, which a thread keeps. lowdb's read() loads the rows and events, its write()
// replaces all of them, and commit() saves what changes.
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { RunInSlices } from '../base/slices.ts';
import { type Steps, visitAll } from '../base/steps.ts';
import { reasonOf } from '../base/wording.ts';
import type { Json } from '../model/json.ts';
import type { Spec } from '../model/spec.ts';
import { type DatabaseUse, type Piece, ROW_FRAME_BYTES, type Saved } from './database.ts';
import type { Reply, Request, Requests } from './database-thread.ts';
import { eventOf, keptEvent } from './event-log.ts';
import { type KeptRow, keptRows, rowOf, WANTED_KIND } from './row-json.ts';
import { SharedValues } from './shared-values.ts';
import { emptyStoreDocument, isRowKind, rowsOf, type StoreDocument, setRow } from './store-document.ts';
import { newerVersion, StoreError } from './store-error.ts';

const THREAD = `${fileURLToPath(new URL('./database-thread', import.meta.url))}${extname(import.meta.filename)}`;
/** About how many characters of JSON a piece of a commit has. */
export const COMMIT_PIECE_LENGTH = 1024 * 1024;

/** Keeps lowdb's document: an adapter of lowdb, with a commit of what changes. */
export interface DocumentAdapter {
  /** Returns what is kept: an empty document where nothing is yet. */
  read(): Promise<StoreDocument>;
  /** Replaces all that is kept. */
  write(document: StoreDocument): Promise<void>;
  /**
   * Saves all pieces or none, as the commit of that number, one more than the last. Resolves once they would survive a
   * power cut. Where it throws, nothing was saved, or `revision` is the given one.
   */
  commit(revision: number, pieces: AsyncIterable<Piece>): Promise<Saved>;
  /** The number of the last commit that is kept. It may be one more than that of the last that `commit` has resolved for, if a disk failed. */
  revision(): Promise<number>;
  close(): Promise<void>;
}

/** A thread with an open database; `close` ends it. */
export class SqliteAdapter implements DocumentAdapter {
  readonly #use: DatabaseUse;
  readonly #inSlices: RunInSlices;
  readonly #worker = new Worker(THREAD, { resourceLimits: { maxYoungGenerationSizeMb: 8 } });
  #waiting: PromiseWithResolvers<unknown> | undefined;
  #broken: StoreError | undefined;

  constructor(use: DatabaseUse, inSlices: RunInSlices) {
    this.#use = use;
    this.#inSlices = inSlices;
    this.#worker.unref();
    this.#worker.on('message', (reply: Reply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#break(reasonOf(error)));
    this.#worker.on('exit', () => this.#break('it ended'));
  }

  async read(): Promise<StoreDocument> {
    const document = emptyStoreDocument();
    document.revision = await this.#ask('open', { use: this.#use });
    const reader = new DocumentReader(document, this.#use.path);
    for (let batch = await this.#ask('next', {}); batch !== undefined; batch = await this.#ask('next', {})) {
      await this.#inSlices(reader.add(batch));
    }
    return document;
  }

  async write(document: StoreDocument): Promise<void> {
    await this.#save(document.revision, cutIntoPieces(linesOf(document), this.#inSlices), 'whole');
  }

  commit(revision: number, pieces: AsyncIterable<Piece>): Promise<Saved> {
    return this.#save(revision, pieces, 'commit');
  }

  revision(): Promise<number> {
    return this.#ask('revision', {});
  }

  async close(): Promise<void> {
    if (this.#broken !== undefined) return;
    try {
      await this.#ask('close', {});
    } finally {
      this.#broken = new StoreError(`${this.#use.path} is closed`);
      await this.#worker.terminate();
    }
  }

  async #save(revision: number, pieces: AsyncIterable<Piece>, how: 'commit' | 'whole'): Promise<Saved> {
    let begins: 'commit' | 'whole' | undefined = how;
    try {
      for await (const piece of pieces) {
        await this.#ask('put', { piece, revision, begins });
        begins = undefined;
      }
      return await this.#ask('finish', { revision });
    } catch (error) {
      if (this.#broken === undefined) await this.#ask('cancel', {});
      throw error;
    }
  }

  /** One request at a time. */
  async #ask<Ask extends keyof Requests>(
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
    else this.#waiting?.reject(reply.isStore ? new StoreError(reply.error) : new Error(reply.error));
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

/** One line of a document: what is kept of a row, or of an event. */
export type KeptLine = { readonly rows: readonly KeptRow[] } | { readonly event: Piece['events'][number] };

/** Yields lines in pieces of a commit, each made in slices once the one before was taken. */
export async function* cutIntoPieces(lines: Iterator<KeptLine>, inSlices: RunInSlices): AsyncGenerator<Piece> {
  for (let isLast = false; !isLast; ) {
    const rows: KeptRow[] = [];
    const events: Piece['events'][number][] = [];
    isLast = await inSlices(fill(lines, { rows, events }));
    yield { rows, events };
  }
}

/** Fills a piece, and returns true where nothing comes after it. */
function* fill(
  lines: Iterator<KeptLine>,
  piece: { readonly rows: KeptRow[]; readonly events: Piece['events'][number][] },
): Steps<boolean> {
  let length = 0;
  for (let count = 1; ; count++) {
    const { done, value } = lines.next();
    if (done === true) return true;
    if ('rows' in value) piece.rows.push(...value.rows);
    else piece.events.push(value.event);
    const kept = 'rows' in value ? value.rows : [value.event];
    for (const [, , json] of kept) length += json?.length ?? 0;
    if (length > COMMIT_PIECE_LENGTH) return false;
    if (count % ROWS_A_STEP === 0) yield;
  }
}

/** How many rows are encoded before the caller may pause. */
const ROWS_A_STEP = 100;

function* linesOf({ tables, events }: StoreDocument): Generator<KeptLine> {
  for (const row of rowsOf(tables)) yield { rows: keptRows(row, undefined) };
  for (const event of events.stored()) yield { event: keptEvent(event) };
}

/** Adds what a database holds to a document. Equal parts of its rows are kept once. */
export class DocumentReader {
  readonly #document: StoreDocument;
  readonly #path: string;
  readonly #shared = new SharedValues();
  readonly #wanted = new Map<string, Spec>();

  constructor(document: StoreDocument, path: string) {
    this.#document = document;
    this.#path = path;
  }

  *add({ rows, events }: Piece): Steps<void> {
    yield* visitAll(rows, (row) => this.#addRow(row));
    yield* visitAll(events, (event) => this.#document.events.restore([eventOf(event)]));
  }

  #addRow([kind, name, value]: KeptRow): void {
    const document = this.#document;
    document.rowBytes += Buffer.byteLength(`${kind}${name}${value}`) + ROW_FRAME_BYTES;
    const fields: Json = JSON.parse(value ?? 'null');
    if (kind === WANTED_KIND) {
      this.#wanted.set(name, fields as unknown as Spec);
      return;
    }
    if (!isRowKind(document.tables, kind)) throw newerVersion(this.#path, `rows of a kind it does not know, "${kind}"`);
    const row = { kind, name, value: rowOf(kind, fields, this.#wanted.get(name)) };
    this.#wanted.delete(name);
    setRow(document.tables, this.#shared.share(row));
  }
}

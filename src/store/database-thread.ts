// The entry of the thread that runs a database, since SQLite blocks the thread that calls it. A file of its own: its
// listener must not run where the database is imported without a thread. One request at a time.
import { parentPort } from 'node:worker_threads';
import { Database, type DatabaseUse } from './database.ts';
import type { Piece, Saved } from './piece.ts';
import { StoreError, StoreUnavailable } from './store-error.ts';

/**
 * What the thread can be asked, with the answers. A piece that begins a commit says so; `whole`: it replaces what is
 * there.
 */
export interface Requests {
  open: { readonly use: DatabaseUse; readonly answer: number };
  next: { readonly answer: Piece | undefined };
  put: {
    readonly piece: Piece;
    readonly revision: number;
    readonly begins: 'commit' | 'whole' | undefined;
    readonly answer: undefined;
  };
  finish: { readonly revision: number; readonly answer: Saved };
  cancel: { readonly answer: undefined };
  revision: { readonly answer: number };
  close: { readonly answer: undefined };
}

/** A request with what it needs. */
export type Request = {
  [Ask in keyof Requests]: { readonly ask: Ask } & Omit<Requests[Ask], 'answer'>;
}[keyof Requests];

/** An error, as a thread can pass it on. */
export interface ThreadError {
  readonly message: string;
  /** The class of an error of the store; `other` for any other error. */
  readonly kind: 'StoreError' | 'StoreUnavailable' | 'other';
  /** Of an error of the operating system. */
  readonly system: { readonly code?: unknown; readonly syscall?: unknown; readonly path?: unknown };
}

/** The answer, or the error. */
export type Reply = { readonly answer: unknown } | { readonly error: ThreadError };

let database: Database | undefined;
let batches: Iterator<Piece, undefined> | undefined;

function answerTo(request: Request): unknown {
  if (request.ask === 'open') {
    database = new Database(request.use);
    batches = database.batches();
    return database.revision;
  }
  if (request.ask === 'close') return database?.close();
  if (database === undefined) throw new Error('the database is not open');
  switch (request.ask) {
    case 'next':
      return batches?.next().value;
    case 'put':
      if (request.begins !== undefined) database.begin(request.begins === 'whole');
      return database.put(request.piece, request.revision);
    case 'finish':
      return database.finish(request.revision);
    case 'cancel':
      return database.cancel();
    case 'revision':
      return database.revision;
  }
}

function replyTo(request: Request): Reply {
  try {
    return { answer: answerTo(request) };
  } catch (error) {
    return { error: threadError(error) };
  }
}

function threadError(error: unknown): ThreadError {
  if (!(error instanceof Error)) return { message: String(error), kind: 'other', system: {} };
  const { message, code, syscall, path } = error as NodeJS.ErrnoException;
  if (!(error instanceof StoreError))
    return { message, kind: 'other', system: syscall === undefined ? {} : { code, syscall, path } };
  return { message, kind: error instanceof StoreUnavailable ? 'StoreUnavailable' : 'StoreError', system: {} };
}

parentPort?.on('message', (request: Request) => parentPort?.postMessage(replyTo(request)));

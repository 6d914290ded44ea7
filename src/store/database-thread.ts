// The entry of the thread that runs a database, because SQLite blocks its calling thread. It is a separate file,
// because its listener must not run if the database is imported without a thread. It answers requests in order.
import { parentPort } from 'node:worker_threads';
import type { EventRange, ListedPage } from '../model/instance-event.ts';
import { Database, type DatabaseState, type DatabaseUse } from './database.ts';
import type { KeptRow } from './row-json.ts';
import type { Batch } from './store-document.ts';
import { StoreError, StoreUnavailable } from './store-error.ts';

/** The requests of the thread, with their parameters and answers. */
export interface Requests {
  open: { readonly of: DatabaseUse; readonly answer: DatabaseState & { readonly rows: readonly KeptRow[] } };
  add: { readonly of: readonly KeptRow[]; readonly answer: undefined };
  save: { readonly of: Batch; readonly answer: undefined };
  events: { readonly of: EventRange; readonly answer: ListedPage };
  close: { readonly of: undefined; readonly answer: undefined };
}

/** A request with its parameters. */
export type Request = {
  [Ask in keyof Requests]: { readonly ask: Ask; readonly of: Requests[Ask]['of'] };
}[keyof Requests];

/** An error, as a thread can pass it on: a copy of one has neither class nor code. */
export interface ThreadError {
  readonly message: string;
  readonly kind: 'StoreUnavailable' | 'StoreError' | 'Error';
  /** Of an error of the operating system. */
  readonly system: { readonly [Name in 'code' | 'syscall' | 'path']?: string | undefined };
}

/** The answer, or the error. */
export type Reply = { readonly answer: unknown } | { readonly error: ThreadError };

let database: Database | undefined;

function answerTo(request: Request): unknown {
  if (request.ask === 'open') {
    database = new Database(request.of);
    return { ...database.state, rows: database.rows() };
  }
  if (request.ask === 'close') return database?.close();
  if (database === undefined) throw new Error('the database is not open');
  if (request.ask === 'add') return database.add(request.of);
  return request.ask === 'save' ? database.save(request.of) : database.events(request.of);
}

function replyTo(request: Request): Reply {
  try {
    return { answer: answerTo(request) };
  } catch (error) {
    return { error: threadError(error) };
  }
}

function threadError(error: unknown): ThreadError {
  const { message, code, syscall, path } = error as NodeJS.ErrnoException;
  const system = syscall === undefined ? {} : { code, syscall, path };
  if (error instanceof StoreUnavailable) return { message, kind: 'StoreUnavailable', system };
  return { message, kind: error instanceof StoreError ? 'StoreError' : 'Error', system };
}

parentPort?.on('message', (request: Request) => parentPort?.postMessage(replyTo(request)));

// Holds the role that a process has at present, and answers for it: requests, health, hooks.
import type { RequestListener } from 'node:http';
import { invariant } from '../base/invariant.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Reader } from '../service/read/reader.ts';

/** A role as clients see it. */
export interface ServingRole {
  readonly handler: RequestListener;
  readonly reader: Reader;
  /** Returns true where this process leads, decided at the moment of the call; else why it does not. */
  leads(): true | string;
  /** Returns why no read is served, for an operator. */
  notReadyReason(): string;
  /** Works from now on: the listeners are there. */
  begin?(): void;
  /** Has the branch polled. */
  poll?(): void;
  /** Answers or refuses what waits, before the listeners close. */
  stopWaiting(): Promise<void>;
  /** Ends all parts. A leader also ends what it runs. */
  stop(): Promise<void>;
}

/** The present role. */
export class PresentRole {
  #role: ServingRole | undefined;
  #waitsFor = 'it is starting';
  #isListening = false;

  /** Answers for the role; registered as a listener. */
  readonly handler: RequestListener = (request, response) => {
    if (this.#role !== undefined) this.#role.handler(request, response);
    else response.writeHead(503).end();
  };

  /** True once reads are served from a good commit, else why not. */
  readonly ready = (): true | string => {
    const reader = this.#role?.reader;
    return this.#isListening && reader !== undefined && isReady(reader) ? true : `not ready: ${this.#reason()}`;
  };

  /** True where this process leads, else why not. */
  readonly leads = (): true | string => {
    if (!this.#isListening || this.#role === undefined) return `not leading: ${this.#reason()}`;
    return this.#role.leads();
  };

  /** The read service of the role. Throws before there is one. */
  get reader(): Reader {
    invariant(this.#role !== undefined, 'there is a role as long as the process serves');
    return this.#role.reader;
  }

  /** Returns what the process waits for before it listens, and why it stops. */
  readonly waitsFor = (reason: string): void => {
    this.#waitsFor = reason;
    this.#isListening = false;
  };

  /** Shows a role, which begins if the process listens. */
  show(role: ServingRole): void {
    this.#role = role;
    if (this.#isListening) role.begin?.();
  }

  /** The listeners are there: the role begins, and so does each later one. */
  begin(): void {
    this.#isListening = true;
    this.#role?.begin?.();
  }

  poll(): void {
    this.#role?.poll?.();
  }

  async stopWaiting(): Promise<void> {
    await this.#role?.stopWaiting();
  }

  #reason(): string {
    return this.#isListening && this.#role !== undefined ? this.#role.notReadyReason() : this.#waitsFor;
  }
}

function isReady(reader: Reader): boolean {
  try {
    return reader.commit() !== '';
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_ready') return false;
    throw error;
  }
}

// One connection: hands on its requests one after the other, and ends when it has to. Node delivers all that a client sends
// ahead at once; the next one waits until the one before is answered, and then for the turn of its client.
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Exchange } from './broken-request.ts';

/** How many requests may wait on one connection behind the one that is answered. */
const AHEAD_MAX = 100;

/** One connection, and the requests on it that are not answered yet. */
export class Connection {
  readonly #socket: Socket;
  readonly #handler: RequestListener;
  #answering: ServerResponse | undefined;
  readonly #waiting: ServerResponse[] = [];
  /** Of the last request that began, answered or not. */
  #last: ServerResponse | undefined;
  #isRetired = false;
  readonly #onAnswered = (): void => this.#endAnswer();

  constructor(socket: Socket, handler: RequestListener) {
    this.#socket = socket;
    this.#handler = handler;
  }

  /** True if the connection ends with an earlier answer: the client would never learn the result of another request. */
  get isOver(): boolean {
    return this.#last?.getHeader('Connection') === 'close';
  }

  /**
   * Hands a request on once the answer before it is sent. Ends the connection if more than 100 requests wait. `isLast`: the answer tells that no other follows.
   */
  take(response: ServerResponse, isLast: boolean): void {
    this.#last = response;
    if (isLast || this.#isRetired) announceEnd(response);
    if (this.#answering === undefined) this.#handOn(response);
    else if (this.#waiting.push(response) > AHEAD_MAX) this.#socket.destroy();
  }

  /** Tells the client with every answer under way, where that is still possible, that no other follows. */
  announceEnd(): void {
    this.#unanswered().forEach(announceEnd);
  }

  /** Ends the connection with its next answer, or the one under way. */
  endWithAnswer(): void {
    this.#isRetired = true;
    this.announceEnd();
  }

  /** Returns the state of the exchange, for a request that cannot be parsed. */
  exchange(): Exchange {
    const retire = (): void => {
      this.endWithAnswer();
      if (this.#unanswered().length === 0) this.#socket.destroySoon();
    };
    return { answers: this.#unanswered(), last: this.#last, retire };
  }

  #unanswered(): readonly ServerResponse[] {
    return this.#answering === undefined ? this.#waiting : [this.#answering, ...this.#waiting];
  }

  #handOn(response: ServerResponse): void {
    this.#answering = response;
    response.on('close', this.#onAnswered);
    this.#handler(response.req, response);
  }

  #endAnswer(): void {
    this.#answering = undefined;
    if (this.#isRetired) this.#socket.destroySoon();
    const next = this.#waiting.shift();
    // The connection may have ended with the answer before.
    if (next !== undefined && this.#socket.writable) this.#handOn(next);
  }
}

function announceEnd(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

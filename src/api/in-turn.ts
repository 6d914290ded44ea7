// One request after the other on each connection. Node hands over all that a client sends ahead at once: answering them
// there and then keeps everybody else waiting until the last one is answered, whether or not the client reads.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many may wait on one connection behind the one that is answered. */
const AHEAD_MAX = 100;

interface Line {
  answering: ServerResponse | undefined;
  readonly waiting: { readonly request: IncomingMessage; readonly response: ServerResponse }[];
}

/**
 * Returns a handler that hands on each request of a connection once the answer before it is sent and others had their turn.
 * A connection on which more than 100 wait is ended.
 */
export function inTurn(handler: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>();

  function handOn(line: Line, request: IncomingMessage, response: ServerResponse): void {
    line.answering = response;
    response.on('close', () => setImmediate(next, line));
    handler(request, response);
  }

  function next(line: Line): void {
    line.answering = undefined;
    const first = line.waiting.shift();
    // It may have ended with the answer before this.
    if (first?.request.socket.writable) handOn(line, first.request, first.response);
  }

  return (request, response) => {
    const { socket } = request;
    const line = lines.get(socket) ?? { answering: undefined, waiting: [] };
    lines.set(socket, line);
    if (line.answering === undefined) handOn(line, request, response);
    else if (line.waiting.push({ request, response }) > AHEAD_MAX) socket.destroy();
  };
}

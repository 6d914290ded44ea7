// Answers requests that Node's parser refuses, in JSON as all others: there is no request object for these, only a socket.
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Connections } from './connections.ts';
import { errorBodyOf, type Failure } from './errors.ts';

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/**
 * Ends the connection of a request that could not be parsed, or did not come in time. The request is told why, unless an
 * answer is under way: what is sent then would be taken for a part of it, or for the answer to an earlier request.
 */
export function endBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex, connections: Connections): void {
  const answers = connections.answersOn(socket);
  if (error.code === TIMEOUT) {
    // The late request may be under way itself: its handler waits for the body.
    const isFree = answers.length <= 1 && answers.every((answer) => !answer.headersSent);
    if (isFree) refuseBrokenRequest(error, socket);
    else socket.destroy();
  } else if (answers.length === 0) {
    refuseBrokenRequest(error, socket);
  } else {
    connections.retire(socket);
  }
}

/** Answers with what is wrong, and ends the connection. */
export function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  // The client is gone: nobody is there to be answered.
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const body = errorBodyOf(failureOf(error));
  const json = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${body.return_code} ${STATUS_CODES[body.return_code]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(json)}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
  ];
  // Not left to the client to end: it may never do so.
  socket.end(`${head.join('\r\n')}\r\n\r\n${json}`, () => socket.destroy());
}

function failureOf({ code, message }: NodeJS.ErrnoException): Failure {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { code: 'headers_too_large', message: 'The request line and headers are larger than 8 KiB' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { code: 'body_too_large', message: 'The extensions of a chunk are larger than 16 KiB' };
    case TIMEOUT:
      return {
        code: 'request_timeout',
        message: 'The request did not arrive in time: its headers or its body took too long',
      };
    default:
      return { code: 'invalid_input', message: `This is no HTTP request that can be read: ${message}` };
  }
}

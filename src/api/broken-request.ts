// Answers requests that Node's parser refuses, in JSON as all others. For these there is only a socket, and no request
// object.
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { OpenConnection } from '../base/connections.ts';
import { errorBodyOf, type Failure } from './errors.ts';
import { REPLICA } from './present.ts';

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/**
 * Ends the connection of a request that could not be parsed, or did not come in time. The request is told why at once,
 * unless it was answered already, or an earlier answer is under way: what is sent then would be taken for a part of that
 * answer, or for the answer to another request.
 */
export function endBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  connection: Pick<OpenConnection, 'unanswered' | 'last' | 'retire'>,
  replica?: string,
): void {
  const { unanswered, last } = connection;
  // The rest of the last request is broken where it has not arrived as a whole; else a new request is.
  const broken = last === undefined || last.req.complete ? undefined : last;
  // Half an answer cannot become another one; only a broken connection tells the client.
  if (broken?.headersSent && !broken.writableEnded) socket.destroy();
  else if (broken?.headersSent || unanswered.some((answer) => answer !== broken)) connection.retire();
  else refuseBrokenRequest(error, socket, replica);
}

/** Answers with what is wrong, and ends the connection. `replica`: the name that the answer carries; left out: it carries none. */
export function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex, replica?: string): void {
  // The client has disconnected: there is nothing to answer.
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const body = errorBodyOf(explainParseError(error));
  const json = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${body.return_code} ${STATUS_CODES[body.return_code]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(json)}`,
    `X-Request-Id: ${randomUUID()}`,
    ...(replica === undefined ? [] : [`${REPLICA}: ${replica}`]),
    'Connection: close',
  ];
  // Not left to the client to end: it may never do so.
  socket.end(`${head.join('\r\n')}\r\n\r\n${json}`, () => socket.destroy());
}

function explainParseError({ code, message }: NodeJS.ErrnoException): Failure {
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

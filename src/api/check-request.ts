// Refuses requests that are wrong on every route, before authentication.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Failure, sendError } from './errors.ts';

const URL_BYTES_MAX = 2 * 1024;

/** Passes a request on, or answers what is wrong with it as HTTP. */
export function checkRequest(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  const failure = malformation(request);
  if (failure === undefined) {
    next();
    return;
  }
  // The end of the body is ambiguous with each of these.
  response.setHeader('Connection', 'close');
  sendError(response, failure);
}

/** Returns what is wrong with a request as HTTP; undefined if nothing is. */
export function malformation(request: IncomingMessage): Failure | undefined {
  const { headers, httpVersion, rawHeaders, url = '' } = request;
  if (headers.host === undefined && httpVersion === '1.1') {
    return { code: 'invalid_input', message: 'An HTTP/1.1 request needs a Host header' };
  }
  // Node keeps the first one, and something in front of it perhaps another. RFC 9112, 3.2.
  if (hostsIn(rawHeaders) > 1) {
    return { code: 'invalid_input', message: 'A request has one Host header, and this one has several' };
  }
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
    return {
      code: 'invalid_input',
      message: `The transfer encoding "${encoding}" is not known here, only "chunked" is`,
    };
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    const message = `Nothing but "100-continue" can be expected here, not "${headers.expect}"`;
    return { code: 'expectation_failed', message };
  }
  // Node hands a URL over as one character a byte.
  if (url.length > URL_BYTES_MAX) {
    return { code: 'uri_too_long', message: `The URL is ${url.length} bytes long; at most ${URL_BYTES_MAX} are read` };
  }
  if (!isDecodable(pathOf(url))) {
    const message = `"${pathOf(url)}" holds a "%" that begins no encoded character: a "%" itself is written %25`;
    return { code: 'invalid_input', message };
  }
  return undefined;
}

function hostsIn(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

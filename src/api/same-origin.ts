// Refuses cross-site requests of browsers. A browser sends its client certificate for any page, so the certificate does
// not prove which page sent the request. See docs/rest.md, requests.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Failure, sendError } from './errors.ts';

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Passes on what reads, and what no page of another origin sends. Pages cannot read answers: there are no CORS headers. */
export function refuseForeignOrigin(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  const failure = READING.has(request.method ?? '') ? undefined : failureOf(request);
  if (failure === undefined) next();
  else sendError(response, failure);
}

function failureOf({ headers }: IncomingMessage): Failure | undefined {
  const { origin, host } = headers;
  if (origin !== undefined && !isOwn(origin, host)) {
    return {
      code: 'foreign_origin',
      message: `This comes from a page of ${origin}, and other pages may not write here`,
    };
  }
  if (headers['sec-fetch-site'] === 'cross-site') {
    return {
      code: 'foreign_origin',
      message: 'This comes from a page of another site, and other pages may not write here',
    };
  }
  return undefined;
}

/** `host` is what the client connected to; a name that is not in the server's certificate does not get this far. */
function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && origin.toLowerCase() === `https://${host}`.toLowerCase().replace(/:443$/, '');
}

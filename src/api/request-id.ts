// A name for every answer, so that what a client saw can be found in the log.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const HEADER = 'X-Request-Id';

/** Gives the answer a new id. A client's own is not taken over: it could not be trusted to be different every time. */
export function assignRequestId(_request: IncomingMessage, response: ServerResponse, next: () => void): void {
  response.setHeader(HEADER, randomUUID());
  next();
}

/** Returns the id that the answer carries, or an empty string where none was assigned. */
export function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader(HEADER) ?? '');
}

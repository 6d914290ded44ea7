// Sends answers, with the headers for caches and conditional writes. See docs/rest.md, answers.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import compression from 'compression';
import type { Request, RequestHandler, Response } from 'express';
import { ServiceError } from '../model/service-error.ts';
import { type WrittenAnswer, writeAnswer } from './answer.ts';
import { findRefusal, requireAllowed } from './authenticate.ts';
import { isForwarded } from './peer.ts';

/** The header with the id of a request. The log and the audit log contain the same id. */
export const REQUEST_ID = 'X-Request-Id';
/** The header with the replica that answered. */
export const REPLICA = 'X-Treeline-Replica';
/** The header with the commit of an answer. */
export const COMMIT = 'X-Treeline-Commit';
const JSON_TYPE = 'application/json; charset=utf-8';
const LISTENERS_MAX = 30;
/** Below this size, compression saves no more than its headers cost. */
export const COMPRESSED_BYTES_MIN = 4 * 1024;

/** The answer to a read, and the followed commit when the answer was built. */
export interface ReadAnswer {
  readonly commit: string;
  readonly answer: WrittenAnswer;
}

/**
 * Answers 200, or 304 if the client already has the answer. Resolves when the answer is sent or the client has
 * disconnected. Throws ServiceError if the client has lost its rights.
 */
export async function sendRead(
  request: IncomingMessage,
  response: ServerResponse,
  { commit, answer }: ReadAnswer,
): Promise<void> {
  requireAllowed(request);
  const { etag } = answer;
  response.setHeader(COMMIT, commit);
  response.setHeader('Cache-Control', 'no-cache');
  // A 304 needs the same headers as the 200.
  response.setHeader('Vary', 'Accept-Encoding');
  response.setHeader('ETag', etag);
  // Not Express's `fresh`: browsers add "Cache-Control: no-cache" to every If-None-Match that a script sets.
  const known = request.headers['if-none-match'];
  if (known === undefined || !hasTag(known, etag)) {
    await sendBody(response, 200, answer);
    return;
  }
  // Return the tag as the client sent it, because caches look it up by that tag.
  if (known.includes(`W/${etag}`)) response.setHeader('ETag', `W/${etag}`);
  response.writeHead(304).end();
}

/** Sends a body at the speed of the client. */
export async function sendBody(
  response: ServerResponse,
  status: number,
  { pieces, bytes }: Omit<WrittenAnswer, 'etag'>,
): Promise<void> {
  response.writeHead(status, { 'Content-Type': JSON_TYPE, 'Content-Length': bytes });
  if (response.req.method === 'HEAD' || pieces.length === 0) response.end();
  else if (pieces.length === 1) response.end(pieces[0]);
  else await pipeline(Readable.from(pieces), response).catch(() => response.destroy());
}

/** Answers with a message in the envelope of the interface. Throws ServiceError if the client has lost its rights. */
export function sendEnvelope(response: ServerResponse, status: number, message: string): void {
  const refusal = findRefusal(response.req);
  if (refusal === undefined) writeJson(response, status, { message, return_code: status });
  else throw new ServiceError(refusal.code, `${refusal.message}. This request was carried out before that`);
}

/** Answers with a body that must not be cached. Throws ServiceError if the client has lost its rights. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  requireAllowed(response.req);
  writeJson(response, status, body);
}

/** Answers with a body that every client may see. */
export function writeJson(response: ServerResponse, status: number, body: unknown): void {
  void sendBody(response, status, writeAnswer(body));
}

/** Returns whether a list of tags, weak or strong, or `*` contains this tag. RFC 9110, 13.1.2. */
export function hasTag(ifNoneMatch: string, etag: string): boolean {
  const tags: readonly string[] = ifNoneMatch.match(/"[^"]*"/g) ?? [];
  return ifNoneMatch.trim() === '*' || tags.includes(etag);
}

/**
 * Returns the digest in the tag of an answer without a file, weak or strong, quoted or not; undefined for other texts.
 */
export function digestOfTag(tag: string): string | undefined {
  return /^(?:(?:W\/)?"([\w-]{22})"|([\w-]{22}))$/
    .exec(tag.trim())
    ?.slice(1)
    .find((digest) => digest !== undefined);
}

/**
 * Returns the step that sets the replica and a new request id on each answer. A forwarded request keeps the id of its
 * replica. An id of the client is ignored, because it may not be unique.
 */
export function markAnswers(replica: string) {
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const known = isForwarded(request) ? request.headers['x-request-id'] : undefined;
    // Each step and each pipe of a large answer adds a listener, more than Node's warning limit of ten.
    response.setMaxListeners(LISTENERS_MAX);
    response.setHeader(REPLICA, replica);
    response.setHeader(REQUEST_ID, known === undefined ? randomUUID() : String(known));
    next();
  };
}

/** Returns the id of the answer, or an empty string if none was assigned. */
export function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader(REQUEST_ID) ?? '');
}

/** Returns the replica's name in the answer. */
export function replicaOf(response: ServerResponse): string {
  return String(response.getHeader(REPLICA) ?? '');
}

/**
 * Returns the steps that compress large answers. A compressed answer has a weak tag, since its bytes differ. RFC 9110,
 * 8.8.1.
 */
export function compressAnswers(): readonly RequestHandler[] {
  return [weakenTag, compression({ threshold: COMPRESSED_BYTES_MIN })];
}

/** The package decides when the head is written, and calls this function after its decision. */
function weakenTag(_request: Request, response: Response, next: () => void): void {
  const writeHead = response.writeHead.bind(response) as (status: number, headers?: OutgoingHttpHeaders) => Response;
  response.writeHead = ((status: number, headers?: OutgoingHttpHeaders) => {
    const tag = response.getHeader('ETag');
    const isCompressed = response.hasHeader('Content-Encoding');
    if (isCompressed && typeof tag === 'string' && !tag.startsWith('W/')) response.setHeader('ETag', `W/${tag}`);
    return writeHead(status, headers);
  }) as typeof response.writeHead;
  next();
}

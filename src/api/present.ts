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

/** The header that names a request, in the log and the audit log too. */
export const REQUEST_ID = 'X-Request-Id';
/** The header that names the replica which has answered. */
export const REPLICA = 'X-Treeline-Replica';
/** The header that names the commit of an answer. */
export const COMMIT = 'X-Treeline-Commit';
const JSON_TYPE = 'application/json; charset=utf-8';
const LISTENERS_MAX = 30;
/** Below this the headers weigh as much as what compression saves. */
export const COMPRESSED_BYTES_MIN = 4 * 1024;

/** The answer to a read, and the newest commit that was followed when it was made. */
export interface ReadAnswer {
  readonly commit: string;
  readonly answer: WrittenAnswer;
}

/**
 * Answers 200, or 304 if the client has the answer already. Resolves once it is sent, or the client is gone. Throws
 * ServiceError if the client may not ask any more.
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
  // A 304 has the headers of the 200 that it stands for.
  response.setHeader('Vary', 'Accept-Encoding');
  response.setHeader('ETag', etag);
  // Not Express's `fresh`: browsers send "Cache-Control: no-cache" with every If-None-Match that a program sets.
  const known = request.headers['if-none-match'];
  if (known === undefined || !hasTag(known, etag)) {
    await sendBody(response, 200, answer);
    return;
  }
  // As the client has it: a cache looks for it under that tag.
  if (known.includes(`W/${etag}`)) response.setHeader('ETag', `W/${etag}`);
  response.writeHead(304).end();
}

/** Sends a body, as fast as the client reads it. */
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

/** Answers what was done, in the envelope of the interface. Throws ServiceError if the client may not ask any more. */
export function sendEnvelope(response: ServerResponse, status: number, message: string): void {
  const refusal = findRefusal(response.req);
  if (refusal === undefined) writeJson(response, status, { message, return_code: status });
  else throw new ServiceError(refusal.code, `${refusal.message}. What this request asked for was done before`);
}

/** Answers with a body that no cache has a use for. Throws ServiceError if the client may not ask any more. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  requireAllowed(response.req);
  writeJson(response, status, body);
}

/** Answers with a body that every client may see. */
export function writeJson(response: ServerResponse, status: number, body: unknown): void {
  void sendBody(response, status, writeAnswer(body));
}

/** Returns whether a list of tags, each perhaps weak, or `*`, has this one. RFC 9110, 13.1.2. */
export function hasTag(ifNoneMatch: string, etag: string): boolean {
  const tags: readonly string[] = ifNoneMatch.match(/"[^"]*"/g) ?? [];
  return ifNoneMatch.trim() === '*' || tags.includes(etag);
}

/**
 * Returns the digest of the tag of an answer without a file, weak or not, with its quotes or without; undefined for
 * other texts.
 */
export function digestOfTag(tag: string): string | undefined {
  return /^(?:(?:W\/)?"([\w-]{22})"|([\w-]{22}))$/
    .exec(tag.trim())
    ?.slice(1)
    .find((digest) => digest !== undefined);
}

/**
 * Returns the step that gives each answer the replica which it comes from, and a new id, or that of the replica which
 * has forwarded the request. A client's own is not taken over: it could not be trusted to be different every time.
 */
export function markAnswers(replica: string) {
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const known = isForwarded(request) ? request.headers['x-request-id'] : undefined;
    // Each step and each pipe of a large answer adds one: more than the ten of which Node warns.
    response.setMaxListeners(LISTENERS_MAX);
    response.setHeader(REPLICA, replica);
    response.setHeader(REQUEST_ID, known === undefined ? randomUUID() : String(known));
    next();
  };
}

/** Returns the id that the answer carries, or an empty string if none was assigned. */
export function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader(REQUEST_ID) ?? '');
}

/** Returns the name of this replica as the answer has it. */
export function replicaOf(response: ServerResponse): string {
  return String(response.getHeader(REPLICA) ?? '');
}

/**
 * Returns the steps that compress large answers. A compressed one has a weak tag: its bytes are others. RFC 9110,
 * 8.8.1.
 */
export function compressAnswers(): readonly RequestHandler[] {
  return [weakenTag, compression({ threshold: COMPRESSED_BYTES_MIN })];
}

/** The package decides about an answer when its head is written, and calls this function after that. */
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

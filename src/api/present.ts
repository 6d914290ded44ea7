// Sends answers: JSON, serialized once, with the headers for caches and conditional writes. See docs/rest.md, answers.
import { hash, randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Request, Response, Router } from 'express';
import { ServiceError } from '../model/service-error.ts';
import type { Reader } from '../service/reader.ts';
import type { SerializedAnswer } from './answer-cache.ts';
import { refusalOf, requireAllowed } from './authenticate.ts';
import { type AnswerText, isLong, sendLong, shareLong } from './long-answers.ts';
import { only } from './only.ts';

/** 128 bits of SHA-256 and a little more, in base64url. */
const DIGEST_LENGTH = 22;

const REQUEST_ID = 'X-Request-Id';
const JSON_TYPE = 'application/json; charset=utf-8';

/** The answer to a read. */
export interface ReadAnswer {
  readonly body: unknown;
  /** The blob of the file that the body was read from; left out or null where there is no such file. */
  readonly oid?: string | null;
}

/** Returns a handler for GET and HEAD that sends what `ask` returns. What `ask` throws becomes the answer instead. */
export function read<Params>(reader: Pick<Reader, 'commit'>, ask: (request: Request<Params>) => ReadAnswer) {
  return (request: Request<Params>, response: Response): void => {
    sendRead(request, response, { commit: reader.commit(), ...ask(request) });
  };
}

/** Returns a function that adds a path which can only be read: {@link read}, and 405 for all other methods. */
export function readsOn(router: Router, reader: Pick<Reader, 'commit'>) {
  return <Params>(path: string, ask: (request: Request<Params>) => ReadAnswer): void => {
    router.route(path).all(only('GET')).get<Params>(read(reader, ask));
  };
}

/** Returns the commit of reads that are answered from rows too, while a commit is held and nothing is active. */
export function recordedCommitOf(reader: Reader): Pick<Reader, 'commit'> {
  return { commit: () => reader.recordedCommit() };
}

/**
 * Answers 200 with a body, or 304 where the client has it already. `commit` is the newest commit that is followed. Throws
 * ServiceError where the client may not ask any more.
 */
export function sendRead(
  request: IncomingMessage,
  response: ServerResponse,
  { commit, body, oid = null }: ReadAnswer & { readonly commit: string },
): void {
  requireAllowed(request);
  const requestId = requestIdOf(response);
  sendSerialized(request, response, { commit, requestId, answer: serialize(body, oid) });
}

/** Returns a body as it is sent. `oid`: that of the file that it was read from, or null. */
export function serialize(body: unknown, oid: string | null = null): SerializedAnswer {
  const text = textOf(body);
  return shareLong({ ...text, etag: etagOf(text.json, oid) });
}

interface SerializedRead {
  readonly commit: string;
  readonly requestId: string;
  readonly answer: SerializedAnswer;
}

/** Answers 200 with a serialized body, or 304 where the client has it already. */
export function sendSerialized(
  request: IncomingMessage,
  response: ServerResponse,
  { commit, requestId, answer }: SerializedRead,
): void {
  const { etag, bytes } = answer;
  if (writeReadHead(request, response, { commit, requestId, etag, bytes })) sendBody(response, answer);
  else response.end();
}

/** Sends a body whose head is written. */
function sendBody(response: ServerResponse, answer: AnswerText): void {
  if (response.req.method === 'HEAD') response.end();
  else if (isLong(answer)) void sendLong(response, answer);
  // Text of ASCII alone is the same bytes in both, and Node writes one byte a character much faster.
  else response.end(answer.json, answer.bytes === answer.json.length ? 'latin1' : 'utf8');
}

interface ReadHead extends Pick<SerializedRead, 'commit' | 'requestId'> {
  readonly etag: string;
  readonly bytes: number;
}

/** Writes the head of a read; returns false where it is a 304, which has no body. */
export function writeReadHead(
  { headers }: IncomingMessage,
  response: ServerResponse,
  { commit, requestId, etag, bytes }: ReadHead,
): boolean {
  const known = tagIn(headers['if-none-match'], etag);
  // A 304 has the headers of the 200 that it stands for, whether or not that would be packed.
  const head: OutgoingHttpHeaders = {
    'X-Treeline-Commit': commit,
    'Cache-Control': 'no-cache',
    Vary: 'Accept-Encoding',
    ETag: known ?? etag,
    [REQUEST_ID]: requestId,
  };
  if (known === undefined) {
    head['Content-Type'] = JSON_TYPE;
    head['Content-Length'] = bytes;
  }
  response.writeHead(known === undefined ? 200 : 304, head);
  return known === undefined;
}

/** Answers what was done, in the envelope of the interface. Throws ServiceError where the client may not ask any more. */
export function sendEnvelope(response: ServerResponse, status: number, message: string): void {
  const refusal = refusalOf(response.req);
  if (refusal === undefined) writeJson(response, status, { message, return_code: status });
  else throw new ServiceError(refusal.code, `${refusal.message}. What this request asked for was done before`);
}

/** Answers with a body that no cache has a use for. Throws ServiceError where the client may not ask any more. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, textOf(body));
}

/** Does the same with a body that is written as JSON already. */
export function sendText(response: ServerResponse, status: number, answer: AnswerText): void {
  requireAllowed(response.req);
  writeText(response, status, answer);
}

/** Answers with a body that anybody may see. */
export function writeJson(response: ServerResponse, status: number, body: unknown): void {
  writeText(response, status, textOf(body));
}

function textOf(body: unknown): AnswerText {
  const json = JSON.stringify(body);
  return { json, bytes: Buffer.byteLength(json) };
}

function writeText(response: ServerResponse, status: number, answer: AnswerText): void {
  response.writeHead(status, { 'Content-Type': JSON_TYPE, 'Content-Length': answer.bytes });
  sendBody(response, answer);
}

/** `"<blob>.<digest>"`: the first part changes with the file, the second also with what became of it. */
function etagOf(json: string, oid: string | null): string {
  const digest = hash('sha256', json, 'base64url');
  return oid === null ? tagOf(digest) : `"${oid}.${digest.slice(0, DIGEST_LENGTH)}"`;
}

/** Returns the tag of an answer that no file is behind. `digest`: SHA-256 of its bytes, base64url. */
export function tagOf(digest: string): string {
  return `"${digest.slice(0, DIGEST_LENGTH)}"`;
}

/**
 * Returns the tag that names the present answer, as the client has it. RFC 9110, 13.1.2: a list of tags, each perhaps
 * weak, or `*`. Whether a tag is weak makes no difference here.
 */
function tagIn(ifNoneMatch: string | undefined, etag: string): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return etag;
  const tags: readonly string[] = ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.find((tag) => tag === etag || tag === `W/${etag}`);
}

/** Gives the answer a new id. A client's own is not taken over: it could not be trusted to be different every time. */
export function assignRequestId(_request: IncomingMessage, response: ServerResponse, next: () => void): void {
  response.setHeader(REQUEST_ID, newRequestId());
  next();
}

/** Returns a new id for an answer. */
export function newRequestId(): string {
  return randomUUID();
}

/** Returns the id that the answer carries, or an empty string where none was assigned. */
export function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader(REQUEST_ID) ?? '');
}

// Sends answers, with the headers for caches and conditional writes. See docs/rest.md, answers.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { ServiceError } from '../model/service-error.ts';
import type { Reader } from '../service/read/reader.ts';
import { type AnswerText, cutText, type PiecedAnswer } from './answer.ts';
import { findRefusal, requireAllowed } from './authenticate.ts';
import { fingerprintOf, isForwarded } from './peer.ts';
import { COUNTED_BYTES_MIN, sendAtOnce, sentAnswers } from './sent-answers.ts';

/** The header that names a request, in the log and the audit log too. */
export const REQUEST_ID = 'X-Request-Id';
/** The header that names the replica which has answered. */
export const REPLICA = 'X-Treeline-Replica';
/** The header that names the commit of an answer. */
export const COMMIT = 'X-Treeline-Commit';
const JSON_TYPE = 'application/json; charset=utf-8';

/** Returns the commit of reads that are answered from rows too, while a commit is held and nothing is active. */
export function recordedCommitOf(reader: Reader): Pick<Reader, 'commit'> {
  return { commit: () => reader.recordedCommit() };
}

/** The answer to a read, and the newest commit that was followed when it was made. */
interface ReadAnswer {
  readonly commit: string;
  readonly answer: PiecedAnswer;
}

/**
 * Does the same as {@link sendAnswer} for a request that has waited. Throws ServiceError where the client may not ask any more; undefined: its turn
 * came when it was gone.
 */
export function sendRead(request: IncomingMessage, response: ServerResponse, answer: ReadAnswer | undefined): void {
  requireAllowed(request);
  if (answer !== undefined) sendAnswer(request, response, answer);
}

/** Answers 200, or 304 where the client has it already. The client was authenticated in this turn of the event loop. */
export function sendAnswer(request: IncomingMessage, response: ServerResponse, { commit, answer }: ReadAnswer): void {
  const { etag, bytes } = answer;
  const known = tagIn(request.headers['if-none-match'], etag);
  // A 304 has the headers of the 200 that it stands for, whether or not that would be packed.
  const head: OutgoingHttpHeaders = {
    [COMMIT]: commit,
    'Cache-Control': 'no-cache',
    Vary: 'Accept-Encoding',
    ETag: known ?? etag,
  };
  if (known === undefined) {
    head['Content-Type'] = JSON_TYPE;
    head['Content-Length'] = bytes;
  }
  beginAnswer(response, known === undefined ? 200 : 304, head);
  if (known === undefined) sendBody(response, answer);
  else response.end();
}

/** Sends a body whose head is written. */
function sendBody(response: ServerResponse, answer: AnswerText): void {
  if (response.req.method === 'HEAD') response.end();
  else if (answer.bytes < COUNTED_BYTES_MIN) sendAtOnce(response, answer);
  else void sentAnswers.send(response, fingerprintOf(response.req), answer);
}

/** Answers what was done, in the envelope of the interface. Throws ServiceError where the client may not ask any more. */
export function sendEnvelope(response: ServerResponse, status: number, message: string): void {
  const refusal = findRefusal(response.req);
  if (refusal === undefined) writeJson(response, status, { message, return_code: status });
  else throw new ServiceError(refusal.code, `${refusal.message}. What this request asked for was done before`);
}

/** Answers with a body that no cache has a use for. Throws ServiceError where the client may not ask any more. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, cutText(JSON.stringify(body)));
}

/** Does the same with a body that is written as JSON already. */
export function sendText(response: ServerResponse, status: number, answer: AnswerText): void {
  requireAllowed(response.req);
  writeJsonText(response, status, answer);
}

/** Answers with a body that every client may see. */
export function writeJson(response: ServerResponse, status: number, body: unknown): void {
  writeJsonText(response, status, cutText(JSON.stringify(body)));
}

function writeJsonText(response: ServerResponse, status: number, answer: AnswerText): void {
  beginAnswer(response, status, { 'Content-Type': JSON_TYPE, 'Content-Length': answer.bytes });
  sendBody(response, answer);
}

/**
 * Returns the tag that names the present answer, as the client has it. RFC 9110, 13.1.2: a list of tags, each perhaps
 * weak, or `*`. Whether a tag is weak makes no difference here.
 */
export function tagIn(ifNoneMatch: string | undefined, etag: string): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return etag;
  const tags: readonly string[] = ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.find((tag) => tag === etag || tag === `W/${etag}`);
}

/** Returns the digest of the tag of an answer without a file, weak or not, with its quotes or without; undefined for other texts. */
export function digestOfTag(tag: string): string | undefined {
  return /^(?:(?:W\/)?"([\w-]{22})"|([\w-]{22}))$/
    .exec(tag.trim())
    ?.slice(1)
    .find((digest) => digest !== undefined);
}

/** What every answer names. Kept beside its headers: Node writes a head several times as fast that comes as a whole. */
const MARKS = Symbol('marks');

interface MarkedResponse extends ServerResponse {
  [MARKS]?: { readonly replica: string; readonly id: string; tag?: unknown };
}

/**
 * Returns the step that gives each answer the replica which it comes from, and a new id, or that of the replica which has forwarded the request.
 * A client's own is not taken over: it could not be trusted to be different every time.
 */
export function markAnswers(replica: string) {
  return (request: IncomingMessage, response: MarkedResponse, next: () => void): void => {
    const known = isForwarded(request) ? request.headers['x-request-id'] : undefined;
    response[MARKS] = { replica, id: known === undefined ? randomUUID() : String(known) };
    next();
  };
}

/** Returns the id that the answer carries, or an empty string where none was assigned. */
export function requestIdOf(response: MarkedResponse): string {
  return response[MARKS]?.id ?? '';
}

/** Returns the name of this replica as the answer has it. */
export function replicaOf(response: MarkedResponse): string {
  return response[MARKS]?.replica ?? '';
}

/** Returns the tag that the client has from now on, where the answer has one. */
export function sentTagOf(response: MarkedResponse): unknown {
  return response[MARKS]?.tag;
}

/** Writes the head of an answer: these headers, those that were set before, and what every answer names. */
export function beginAnswer(
  response: MarkedResponse,
  status: number,
  headers: OutgoingHttpHeaders = {},
): ServerResponse {
  const marks = response[MARKS];
  if (marks === undefined) return response.writeHead(status, headers);
  marks.tag = headers.ETag;
  return response.writeHead(status, { [REPLICA]: marks.replica, [REQUEST_ID]: marks.id, ...headers });
}

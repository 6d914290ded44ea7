// How answers look on the wire: JSON, made once, with the headers that caches and careful writers need. See docs/rest.md,
// answers.
import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** 128 bits of SHA-256 and a little more, in base64url. */
const DIGEST_LENGTH = 22;

/** What a read answers. */
export interface Answer {
  readonly body: unknown;
  /** The blob of the file that the body was read from; left out or null where there is no such file. */
  readonly oid?: string | null;
}

/** Answers 200 with a body, or 304 where the client has it already. `commit` is the newest commit that is followed. */
export function sendRead(
  request: IncomingMessage,
  response: ServerResponse,
  { commit, body, oid = null }: Answer & { readonly commit: string },
): void {
  const json = JSON.stringify(body);
  const etag = etagOf(json, oid);
  response.setHeader('ETag', etag);
  response.setHeader('X-Treeline-Commit', commit);
  response.setHeader('Cache-Control', 'no-cache');
  if (holds(request.headers['if-none-match'], etag)) {
    response.statusCode = 304;
    response.end();
  } else {
    sendText(response, 200, json);
  }
}

/** Answers what a write came to, in the envelope of the interface. */
export function sendEnvelope(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { message, return_code: status });
}

/** Answers with a body that no cache has a use for. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, JSON.stringify(body));
}

function sendText(response: ServerResponse, status: number, json: string): void {
  const bytes = Buffer.from(json);
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', bytes.length);
  // Node leaves the body away where the method is HEAD.
  response.end(bytes);
}

/** `"<blob>.<digest>"`: the first part changes with the file, the second also with what became of it. */
function etagOf(json: string, oid: string | null): string {
  const digest = hash('sha256', json, 'base64url').slice(0, DIGEST_LENGTH);
  return oid === null ? `"${digest}"` : `"${oid}.${digest}"`;
}

/** RFC 9110, 13.1.2: a list of tags, each perhaps weak, or `*`. Whether a tag is weak makes no difference here. */
function holds(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags: readonly string[] = ifNoneMatch.match(/"[^"]*"/g) ?? [];
  return ifNoneMatch.trim() === '*' || tags.includes(etag);
}

// Answers what nodes ask all the time without the router: one record, or one value of it, by a plain GET. Everything else,
// errors included, is left to the routes. See docs/decisions/0065-answers-that-did-not-change.md.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '../model/service-error.ts';
import { AnswerCache, type SerializedAnswer } from './answer-cache.ts';
import { type AuthenticateOptions, admit } from './authenticate.ts';
import { malformation } from './check-request.ts';
import { newRequestId, sendSerialized, serialize } from './present.ts';

/** A path without a query, and without a character that needs decoding. */
const RECORD_PATH = /^\/hiera\/([\w.-]+)(?:\/([\w.-]+))?$/;
/** Holds the records of about 30,000 nodes of common size. */
const CACHE_BYTES_MAX = 32 * 1024 * 1024;

/** Stands for an answer that is left to the routes. */
const TOO_LARGE: SerializedAnswer = { json: '', bytes: 0, etag: '' };

interface DirectOptions extends AuthenticateOptions {
  /** Answers of fewer bytes are sent as they are, whatever the client accepts. */
  readonly packedBytesMin: number;
}

/** Returns a handler that answers a request and returns true, or returns false and has done nothing. */
export function answerRecords(options: DirectOptions): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { reader, packedBytesMin } = options;
  const cache = new AnswerCache(CACHE_BYTES_MAX);

  function answerOf(path: string): SerializedAnswer | undefined {
    const [, node, key] = RECORD_PATH.exec(path) ?? [];
    // "all" is a route.
    const found = node === undefined || node === 'all' ? undefined : reader.findNode(node);
    if (found === undefined) return undefined;
    const known = cache.get(path, found.sources);
    if (known !== undefined) return known;
    const body = key === undefined ? found.record() : found.value(key)?.value;
    if (body === undefined) return undefined;
    const answer = serialize(body);
    // The routes pack it: only that it is too large is kept, or it would take the room of many others.
    const kept = answer.bytes < packedBytesMin ? answer : TOO_LARGE;
    cache.set(path, found.sources, kept);
    return kept;
  }

  return (request, response) => {
    const { method, url = '', headers } = request;
    if (method !== 'GET' || !url.startsWith('/hiera/') || headers['x-treeline-min-commit'] !== undefined) return false;
    const answer = unlessRefused(() => {
      if (malformation(request) !== undefined || 'code' in admit(options, request)) return undefined;
      return answerOf(url);
    });
    if (answer === undefined || answer === TOO_LARGE) return false;
    sendSerialized(request, response, { commit: reader.commit(), answer, more: newRequestId() });
    return true;
  };
}

/** Returns undefined for what the service refuses: the routes say why. */
function unlessRefused<Answer>(ask: () => Answer | undefined): Answer | undefined {
  try {
    return ask();
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

// Answers plain GETs without the router, and answers that did not change from a cache. Everything else, errors included, is
// left to the routes. See docs/decisions/0065-answers-that-did-not-change.md.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AnswerSources } from '../model/answer-sources.ts';
import { type AnswerCache, KEPT_BYTES_MAX, type SerializedAnswer } from './answer-cache.ts';
import { type AuthenticateOptions, admit } from './authenticate.ts';
import { malformation } from './check-request.ts';
import { findDirectRead } from './find-direct-read.ts';
import { PACKED_BYTES_MIN, type Pack } from './pack.ts';
import { newRequestId, type ReadAnswer, sendSerialized, serialize } from './present.ts';

interface DirectOptions extends AuthenticateOptions {
  readonly pack: Pack;
  readonly cache: AnswerCache;
}

/** Returns a handler that answers a request and returns true, or returns false and has done nothing. */
export function answerDirectly(
  options: DirectOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { reader, pack, cache } = options;

  function answerTo(request: IncomingMessage): SerializedAnswer | undefined {
    const { method, url = '', headers } = request;
    if (method !== 'GET' || headers['x-treeline-min-commit'] !== undefined) return undefined;
    if (malformation(request) !== undefined) return undefined;
    admit(options, request);
    const read = findDirectRead(reader, url);
    if (read === undefined) return undefined;
    return cache.get(url, read.sources) ?? keep(url, read.sources, read.make());
  }

  function keep(path: string, sources: AnswerSources, made: ReadAnswer | undefined): SerializedAnswer | undefined {
    if (made === undefined) return undefined;
    const answer = serialize(made.body, made.oid);
    if (answer.bytes <= KEPT_BYTES_MAX) cache.set(path, sources, answer);
    return answer;
  }

  return (request, response) => {
    const answer = unlessFailed(() => answerTo(request));
    if (answer === undefined) return false;
    const read = { commit: reader.commit(), requestId: newRequestId(), answer };
    const send = (): void => sendSerialized(request, response, read);
    if (answer.bytes < PACKED_BYTES_MIN) send();
    else pack(request, response, send);
    return true;
  };
}

/** Returns undefined for what is refused or fails: the routes fail in the same way, answer with the error and log it. */
function unlessFailed<Answer>(ask: () => Answer | undefined): Answer | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

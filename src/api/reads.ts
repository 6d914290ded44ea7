// Handles reads: sends the result of a function, or the answer from the cache.
import type { Response } from 'express';
import { breatheBy } from '../base/breathe.ts';
import { systemClock } from '../base/clock.ts';
import type { ShareLimits } from '../base/shares.ts';
import type { Client } from '../model/objects.ts';
import type { Reader } from '../service/read/reader.ts';
import { type WrittenAnswer, writeAnswer } from './answer.ts';
import type { AnswerCache } from './answer-cache.ts';
import { clientOf, type RequestStep, requireAllowed } from './authenticate.ts';
import { LAG } from './forward.ts';
import { fingerprintOf } from './peer.ts';
import { COMPRESSED_BYTES_MIN, type ReadAnswer, sendRead } from './present.ts';
import type { RouteParts, RouteRequest } from './routes/route-table.ts';

/** Lets other requests run while a long answer is built. */
export const breathe = breatheBy(systemClock);

/** Lists and answers that query git or the store. A client gets one at a time, until it has read it. */
export const LISTS: ShareLimits = { ofClient: 1, waitingOfClient: 100 };

/** The body of a read. */
interface ReadBody {
  readonly body: unknown;
  /** The blob of the object's file; omitted or null if there is none. */
  readonly oid?: string | null;
}

type Make<Result> = (request: RouteRequest, client: Client) => Result;

/** An answer that several requests share. All of them arrived before the answer was built. */
interface Turn {
  readonly answer: Promise<ReadAnswer>;
  readonly responses: Response[];
  readonly sent: Promise<void>[];
}

/**
 * Returns functions that build handlers of GET and HEAD, which send the result of `make`. The answers of `cached` and
 * `cachedList` depend only on the desired state and the rows; the others also on the time, for example. A client gets
 * one list at a time, until it has read it. Equal requests of a client that wait together share one answer.
 */
export function readsFrom({ reader, cache, lists }: Pick<RouteParts, 'reader' | 'cache' | 'lists'>) {
  const turns = new Map<string, Turn>();

  async function answerOf(request: RouteRequest, { make, isKept }: Sending): Promise<ReadAnswer> {
    const [commit, version] = [reader.commit(), cache.version()];
    const known = isKept ? cache.find(request) : undefined;
    const answer = known ?? (await make(request, clientOf(request)));
    if (known === undefined && isKept) cache.keep(request, version, answer);
    return { commit, answer };
  }

  /** The turn ends when all clients that share it have read the answer or disconnected. */
  function beginTurn(key: string, request: RouteRequest, sending: Sending): Turn {
    const { promise: answer, resolve, reject } = Promise.withResolvers<ReadAnswer>();
    const turn: Turn = { answer, responses: [], sent: [] };
    turns.set(key, turn);
    const end = lists.run(fingerprintOf(request), async () => {
      turns.delete(key);
      // Nobody waits for the answer any more.
      if (turn.responses.every(({ destroyed }) => destroyed)) return;
      requireAllowed(request);
      resolve(await answerOf(request, sending));
      await Promise.allSettled(turn.sent);
    });
    end.catch((error) => {
      turns.delete(key);
      reject(error);
    });
    return turn;
  }

  const short = (isKept: boolean) => (make: Make<ReadBody>) => {
    const written = (...asked: Parameters<typeof make>): WrittenAnswer => {
      const { body, oid } = make(...asked);
      return writeAnswer(body, oid);
    };
    return async (request: RouteRequest, response: Response): Promise<void> =>
      sendRead(request, response, await answerOf(request, { make: written, isKept }));
  };
  const long = (isKept: boolean) => (make: Make<Promise<WrittenAnswer>>) => {
    return async (request: RouteRequest, response: Response): Promise<void> => {
      // The client's rights may have changed between two requests, or the requests may come through different replicas.
      const key = JSON.stringify([request.url, fingerprintOf(request), clientOf(request), request.headers[LAG]]);
      const turn = turns.get(key) ?? beginTurn(key, request, { make, isKept });
      const sent = turn.answer.then((answer) => sendRead(request, response, answer));
      turn.responses.push(response);
      turn.sent.push(sent);
      await sent;
    };
  };
  return { live: short(false), cached: short(true), list: long(false), cachedList: long(true) };
}

/**
 * Returns the step that answers reads from the cache, except large answers, which are compressed. It skips Express's
 * search for the route, the slowest part of a small read.
 */
export function sendKept(reader: Pick<Reader, 'commit'>, cache: AnswerCache): RequestStep {
  return (request, response, next) => {
    const { method } = request;
    const answer = method === 'GET' || method === 'HEAD' ? cache.find(request) : undefined;
    if (answer === undefined || answer.bytes >= COMPRESSED_BYTES_MIN) return next();
    Object.assign(request, { route: { path: answer.route } });
    return sendRead(request, response, { commit: reader.commit(), answer });
  };
}

interface Sending {
  readonly make: Make<WrittenAnswer | Promise<WrittenAnswer>>;
  readonly isKept: boolean;
}

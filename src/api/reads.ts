// Handles reads: each sends what a function returns, from the cache if the answer is kept there.
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

/** Lets other requests be answered while a long answer is made. */
export const breathe = breatheBy(systemClock);

/** Lists, and answers for which git or the store is asked: a client gets one at a time, until it has read it. */
export const LISTS: ShareLimits = { ofClient: 1, waitingOfClient: 100 };

/** The body of a read. */
interface ReadBody {
  readonly body: unknown;
  /** The blob of the file that the body was read from; left out or null if there is no such file. */
  readonly oid?: string | null;
}

type Make<Result> = (request: RouteRequest, client: Client) => Result;

/** The answer that several requests share, which were all there before its making began. */
interface Turn {
  readonly answer: Promise<ReadAnswer>;
  readonly responses: Response[];
  readonly sent: Promise<void>[];
}

/**
 * Returns what makes handlers of GET and HEAD: each sends what `make` returns, and what it throws becomes the answer
 * instead. The answers of `cached` and `cachedList` depend on the desired state and the rows alone; the others also on
 * the time, for example. A client gets one list at a time, until it has read it; those that it asks for again while they
 * wait are made once.
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

  /** The turn ends once all who share it have read the answer, or are gone. */
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
      // The same client may have got other rights meanwhile, and ask through another replica that is behind.
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
 * Returns the step that answers reads with what is kept, unless it is to be compressed: finding the route takes Express
 * longer than everything else.
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

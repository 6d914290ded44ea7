// Handles reads. An answer that depends on the desired state and the rows alone is kept until one of them changes.
import type { IncomingMessage } from 'node:http';
import type { Response } from 'express';
import { breatheBy } from '../base/breathe.ts';
import { systemClock } from '../base/clock.ts';
import type { ShareLimits } from '../base/shares.ts';
import { readLimitsOf } from '../model/least-rights.ts';
import type { Client } from '../model/objects.ts';
import { type WrittenAnswer, writeAnswer } from './answer.ts';
import { clientOf, findClient, requireAllowed } from './authenticate.ts';
import { fingerprintOf } from './peer.ts';
import { sendRead } from './present.ts';
import type { RouteParts, RouteRequest } from './routes/route-table.ts';

/** Lets other requests be answered while a long answer is made. */
export const breathe = breatheBy(systemClock);

/** Lists, and answers for which git or the store is asked: a client gets one at a time, until it has read it. */
export const LISTS: ShareLimits = { ofClient: 1, waitingOfClient: 100 };

const MIB = 1024 * 1024;
/** The records of about 30,000 nodes of common size. */
const CACHE_BYTES = 96 * MIB;
/** The memory of a path, an entry of the map and a tag, besides the text. */
const ENTRY_BYTES = 300;
/** A query, or encoded characters: with these, one answer would be kept under any number of paths. */
const MANY_SPELLINGS = /[?%]/;

/** Answers of the present version, by path. If they take too much memory, the one that was added first is dropped. */
export class AnswerCache {
  readonly #versionNow: () => string;
  readonly #bytesMax: number;
  readonly #answers = new Map<string, WrittenAnswer>();
  /** The version of all kept answers. */
  #version = '';
  #bytes = 0;

  /** `versionNow`: see Reader. */
  constructor(versionNow: () => string, bytesMax = CACHE_BYTES) {
    this.#versionNow = versionNow;
    this.#bytesMax = bytesMax;
  }

  /** Returns the present version. Answers of another one are dropped. */
  version(): string {
    const version = this.#versionNow();
    if (version === this.#version) return version;
    this.#answers.clear();
    this.#bytes = 0;
    this.#version = version;
    return version;
  }

  /** Returns the answer to a request, if it is kept. */
  find(request: IncomingMessage): WrittenAnswer | undefined {
    this.version();
    return this.#answers.get(keyOf(request));
  }

  /** Keeps an answer. `version`: the present one when making it began. */
  keep(request: IncomingMessage, version: string, answer: WrittenAnswer): void {
    const key = keyOf(request);
    if (version !== this.version() || MANY_SPELLINGS.test(key) || this.#answers.has(key)) return;
    this.#answers.set(key, answer);
    this.#bytes += answer.bytes + ENTRY_BYTES;
    for (const [oldest, { bytes }] of this.#answers) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#answers.delete(oldest);
      this.#bytes -= bytes + ENTRY_BYTES;
    }
  }
}

/**
 * Returns what distinguishes an answer from others of the same version: its URL, and how much of everything the client
 * sees.
 */
function keyOf(request: IncomingMessage): string {
  const { url = '' } = request;
  const client = findClient(request);
  const limits = client && readLimitsOf(client);
  return limits === undefined ? url : `${limits.key} ${url}`;
}

/** The body of a read. */
interface ReadBody {
  readonly body: unknown;
  /** The blob of the file that the body was read from; left out or null if there is no such file. */
  readonly oid?: string | null;
}

type Make<Result> = (request: RouteRequest, client: Client) => Result;

/**
 * Returns what makes handlers of GET and HEAD: each sends what `make` returns, and what it throws becomes the answer
 * instead. The answers of `cached` and `cachedList` depend on the desired state and the rows alone; the others also on
 * the time, for example. A client gets one list at a time, until it has read it.
 */
export function readsFrom({ reader, cache, lists }: Pick<RouteParts, 'reader' | 'cache' | 'lists'>) {
  async function send(request: RouteRequest, response: Response, { make, isKept }: Sending): Promise<void> {
    const [commit, version] = [reader.commit(), cache.version()];
    const known = isKept ? cache.find(request) : undefined;
    const answer = known ?? (await make(request, clientOf(request)));
    if (known === undefined && isKept) cache.keep(request, version, answer);
    await sendRead(request, response, { commit, answer });
  }
  const short = (isKept: boolean) => (make: Make<ReadBody>) => {
    const written = (...asked: Parameters<typeof make>): WrittenAnswer => {
      const { body, oid } = make(...asked);
      return writeAnswer(body, oid);
    };
    return (request: RouteRequest, response: Response) => send(request, response, { make: written, isKept });
  };
  const long = (isKept: boolean) => (make: Make<Promise<WrittenAnswer>>) => {
    return async (request: RouteRequest, response: Response): Promise<void> => {
      await lists.run(fingerprintOf(request), async () => {
        if (response.destroyed) return;
        requireAllowed(request);
        await send(request, response, { make, isKept });
      });
    };
  };
  return { live: short(false), cached: short(true), list: long(false), cachedList: long(true) };
}

interface Sending {
  readonly make: Make<WrittenAnswer | Promise<WrittenAnswer>>;
  readonly isKept: boolean;
}

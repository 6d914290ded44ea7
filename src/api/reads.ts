// Handles reads. An answer that depends on the desired state and the rows alone is kept until one of them changes.
import type { IncomingMessage } from 'node:http';
import type { Request, Response, Router } from 'express';
import { breatheBy } from '../base/breathe.ts';
import { systemClock } from '../base/clock.ts';
import type { ShareLimits, Shares } from '../base/shares.ts';
import { readLimitsOf } from '../model/least-rights.ts';
import type { Reader } from '../service/read/reader.ts';
import { type WrittenAnswer, writeAnswer } from './answer.ts';
import { findClient, requireAllowed } from './authenticate.ts';
import { only } from './only.ts';
import { fingerprintOf } from './peer.ts';
import { sendRead } from './present.ts';

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

/** The sources of reads. */
export interface Reads {
  /** The commit of the answers. */
  readonly reader: Pick<Reader, 'commit'>;
  /**
   * Left out: answers depend on more than the desired state and the rows, such as the time or the client, and none is
   * kept.
   */
  readonly cache?: AnswerCache;
}

/** The body of a read. */
interface ReadBody {
  readonly body: unknown;
  /** The blob of the file that the body was read from; left out or null if there is no such file. */
  readonly oid?: string | null;
}

/** Returns a handler for GET and HEAD that sends what `make` returns. What `make` throws becomes the answer instead. */
export function read<Params>({ reader, cache }: Reads, make: (request: Request<Params>) => ReadBody) {
  return async (request: Request<Params>, response: Response): Promise<void> => {
    const [commit, version] = [reader.commit(), cache?.version()];
    let answer = cache?.find(request);
    if (answer === undefined) {
      const { body, oid } = make(request);
      answer = writeAnswer(body, oid);
      if (version !== undefined) cache?.keep(request, version, answer);
    }
    await sendRead(request, response, { commit, answer });
  };
}

/** Returns a function that adds a path which can only be read: {@link read}, and 405 for all other methods. */
export function readsOn(router: Router, reads: Reads) {
  return <Params>(path: string, make: (request: Request<Params>) => ReadBody): void => {
    router.route(path).all(only('GET')).get<Params>(read(reads, make));
  };
}

/** The sources of long reads, and the queue of each client for them. */
export interface ListReads extends Reads {
  readonly lists: Shares;
}

/**
 * Returns a handler for GET and HEAD that sends what `make` resolves to. What `make` throws becomes the answer instead.
 * The next list of the same client is made once this one is sent.
 */
export function readList<Params>(
  { reader, cache, lists }: ListReads,
  make: (request: Request<Params>) => Promise<WrittenAnswer>,
) {
  return async (request: Request<Params>, response: Response): Promise<void> => {
    await lists.run(fingerprintOf(request), async () => {
      if (response.destroyed) return;
      requireAllowed(request);
      const [commit, version] = [reader.commit(), cache?.version()];
      const known = cache?.find(request);
      const answer = known ?? (await make(request));
      if (known === undefined && version !== undefined) cache?.keep(request, version, answer);
      await sendRead(request, response, { commit, answer });
    });
  };
}

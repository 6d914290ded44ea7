// Handles reads. An answer that is made of the desired state and the rows alone is kept until one of them changes, and is sent before
// the router is asked. ARCHITECTURE.md, "Reads".
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, Response, Router } from 'express';
import { breatheBy } from '../base/breathe.ts';
import { systemClock } from '../base/clock.ts';
import type { Shares } from '../base/shares.ts';
import { readLimitsOf } from '../model/least-rights.ts';
import type { Reader } from '../service/read/reader.ts';
import { type PiecedAnswer, writeAnswer } from './answer.ts';
import { askerOf, findClient } from './authenticate.ts';
import { only } from './only.ts';
import { PACKED_BYTES_MIN, type Pack } from './pack.ts';
import { sendAnswer, sendRead } from './present.ts';

/** Lets other requests be answered while a long answer is made. */
export const breathe = breatheBy(systemClock);

const MIB = 1024 * 1024;
/** The records of about 30,000 nodes of common size, and the answer with all records of 100,000. */
const KEPT_LIMITS: KeptLimits = { bytes: 96 * MIB, bytesOfAnswer: 64 * MIB };
/** The memory of a path, an entry of the map and a tag, besides the text. */
const ENTRY_BYTES = 300;
/** A query, or encoded characters: with these, one answer would be kept under any number of paths. */
const MANY_SPELLINGS = /[?%]/;

/** How much memory kept answers take, and how large one of them is at most. */
interface KeptLimits {
  readonly bytes: number;
  readonly bytesOfAnswer: number;
}

/** Answers of the present version, by path. Where they take too much memory, the one that was added first gives way. */
export class KeptAnswers {
  readonly #versionNow: () => string;
  readonly #limits: KeptLimits;
  readonly #answers = new Map<string, PiecedAnswer>();
  /** That of all kept answers. */
  #version = '';
  #bytes = 0;

  /** `versionNow`: see Reader. */
  constructor(versionNow: () => string, limits: KeptLimits = KEPT_LIMITS) {
    this.#versionNow = versionNow;
    this.#limits = limits;
  }

  /** Returns the present version. What was kept of another one is dropped. */
  version(): string {
    const version = this.#versionNow();
    if (version === this.#version) return version;
    this.#answers.clear();
    this.#bytes = 0;
    this.#version = version;
    return version;
  }

  /** Returns the answer to a path, if it is kept. */
  find(path: string): PiecedAnswer | undefined {
    this.version();
    return this.#answers.get(path);
  }

  /** Keeps an answer. `version`: the present one when making it began. */
  keep(path: string, version: string, answer: PiecedAnswer): void {
    const bytes = memoryOf(path, answer);
    if (version !== this.version() || bytes > this.#limits.bytesOfAnswer || MANY_SPELLINGS.test(path)) return;
    this.#drop(path);
    this.#answers.set(path, answer);
    this.#bytes += bytes;
    for (const oldest of this.#answers.keys()) {
      if (this.#bytes <= this.#limits.bytes) return;
      this.#drop(oldest);
    }
  }

  #drop(path: string): void {
    const answer = this.#answers.get(path);
    if (answer === undefined) return;
    this.#answers.delete(path);
    this.#bytes -= memoryOf(path, answer);
  }
}

/** A text takes one byte a character, or two as soon as one character needs them. */
function memoryOf(path: string, { pieces, bytes }: PiecedAnswer): number {
  const characters = pieces.reduce((sum, { length }) => sum + length, 0);
  return path.length + (bytes === characters ? bytes : 2 * characters) + ENTRY_BYTES;
}

/** Returns what tells an answer from others that are made of the same state: its URL, and how much of everything the client sees. */
export function keyOf(request: IncomingMessage): string {
  const { url = '' } = request;
  const client = findClient(request);
  const limits = client && readLimitsOf(client);
  return limits === undefined ? url : `${limits.key} ${url}`;
}

/** What reads are answered from. */
export interface Reads {
  /** The commit of the answers. */
  readonly reader: Pick<Reader, 'commit'>;
  /** Left out: answers depend on more than the desired state and the rows, such as the time or the client, and none is kept. */
  readonly kept?: KeptAnswers;
}

/** The body of a read. */
interface ReadBody {
  readonly body: unknown;
  /** The blob of the file that the body was read from; left out or null where there is no such file. */
  readonly oid?: string | null;
}

/** Returns a handler that sends what is kept, packed by `pack` where it is large, and passes all other requests on. */
export function sendKept({ reader, kept }: Required<Reads>, pack: Pack) {
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const answer = isRead ? kept.find(keyOf(request)) : undefined;
    if (answer === undefined) {
      next();
      return;
    }
    const made = { commit: reader.commit(), answer };
    if (answer.bytes < PACKED_BYTES_MIN) sendAnswer(request, response, made);
    else pack(request, response, () => sendAnswer(request, response, made));
  };
}

/** Returns a handler for GET and HEAD that sends what `make` returns. What `make` throws becomes the answer instead. */
export function read<Params>({ reader, kept }: Reads, make: (request: Request<Params>) => ReadBody) {
  return (request: Request<Params>, response: Response): void => {
    const [commit, version] = [reader.commit(), kept?.version()];
    const { body, oid } = make(request);
    const answer = writeAnswer(body, oid);
    if (version !== undefined) kept?.keep(keyOf(request), version, answer);
    sendAnswer(request, response, { commit, answer });
  };
}

/** Returns a function that adds a path which can only be read: {@link read}, and 405 for all other methods. */
export function readsOn(router: Router, reads: Reads) {
  return <Params>(path: string, make: (request: Request<Params>) => ReadBody): void => {
    router.route(path).all(only('GET')).get<Params>(read(reads, make));
  };
}

interface ListReads extends Reads {
  readonly shares: Shares;
  /** Returns what tells a request from those that have another answer, undefined where its client alone has this one. Left out: {@link keyOf}. */
  readonly questionOf?: (request: Request) => string | undefined;
}

/**
 * Returns a handler for GET and HEAD that sends what `make` resolves to. What `make` throws becomes the answer instead. A list is made once for all who wait for it.
 */
export function readList<Params>(
  { reader, kept, shares, questionOf = keyOf }: ListReads,
  make: (request: Request<Params>) => Promise<PiecedAnswer>,
) {
  async function answerTo(
    request: Request<Params>,
  ): Promise<{ readonly commit: string; readonly answer: PiecedAnswer }> {
    const known = kept?.find(keyOf(request));
    if (known !== undefined) return { commit: reader.commit(), answer: known };
    const version = kept?.version();
    const commit = reader.commit();
    const answer = await make(request);
    if (version !== undefined) kept?.keep(keyOf(request), version, answer);
    return { commit, answer };
  }

  return async (request: Request<Params>, response: Response): Promise<void> => {
    const asker = askerOf(request, response, questionOf(request as Request));
    const made = await shares.run(asker, () => answerTo(request));
    sendRead(request, response, made);
  };
}

/**
 * Returns a handler for GET and HEAD that sends what others are asked for, such as the store or git, in the turn of its client. `make` reads the
 * request at once, and returns what is done then. What either throws becomes the answer instead.
 */
export function readAsked<Params>(
  { reader, shares, questionOf = () => undefined }: Omit<ListReads, 'kept'>,
  make: (request: Request<Params>) => () => Promise<PiecedAnswer>,
) {
  return async (request: Request<Params>, response: Response): Promise<void> => {
    const answerTo = make(request);
    const asker = askerOf(request, response, questionOf(request as Request));
    const made = await shares.run(asker, async () => ({ commit: reader.commit(), answer: await answerTo() }));
    sendRead(request, response, made);
  };
}

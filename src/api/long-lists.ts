// Answers with lists that may be long. They are made, written as JSON, hashed and sent in slices, so that other requests have
// their turn. docs/decisions/0067-work-in-slices.md.
import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { systemClock } from '../clock.ts';
import type { AnswerSources } from '../model/answer-sources.ts';
import { isMap } from '../model/json.ts';
import { type Steps, visitAll } from '../model/steps.ts';
import type { Reader } from '../service/reader.ts';
import type { Shares } from '../shares.ts';
import { createSlices } from '../slices.ts';
import { type AnswerCache, KEPT_BYTES_MAX } from './answer-cache.ts';
import { askerOf, requireAllowed } from './authenticate.ts';
import { PIECE_LENGTH, type PiecedAnswer, pieceFrom, sendPieced, sharePieced } from './long-answers.ts';
import { requestIdOf, sendSerialized, tagOf, writeReadHead } from './present.ts';

/** One list, of the moment at which it is asked for. */
interface ListRead {
  /** Work that results in the body: a list, or an object with lists. */
  readonly body: Steps<unknown>;
  /** Left out: the answer is not kept. */
  readonly sources?: AnswerSources;
}

interface ListOptions {
  /** The commit of the answers. */
  readonly reader: Pick<Reader, 'commit'>;
  readonly cache: AnswerCache;
  readonly shares: Shares;
  /** Clients are answered differently. Left out: all have the same answer. */
  readonly isOfClient?: boolean;
}

const inSlices = createSlices(systemClock);

/**
 * Returns a handler for GET and HEAD that sends what `ask` returns. What `ask` throws becomes the answer instead. A list is made
 * once for all who wait for it.
 */
export function readList<Params>(
  { reader, cache, shares, isOfClient = false }: ListOptions,
  ask: (request: Request<Params>) => ListRead,
) {
  async function answerTo(request: Request<Params>): Promise<{ commit: string; answer: PiecedAnswer }> {
    const { body, sources } = ask(request);
    const commit = reader.commit();
    const known = sources && cache.get(request.path, sources);
    if (known !== undefined) return { commit, answer: { ...known, pieces: [known.json] } };
    const answer = sharePieced(await inSlices(serializeInSteps(body)));
    if (sources !== undefined && answer.bytes <= KEPT_BYTES_MAX) {
      cache.set(request.path, sources, { ...answer, json: answer.pieces.join('') });
    }
    return { commit, answer };
  }

  return async (request: Request<Params>, response: Response): Promise<void> => {
    const asker = askerOf(request, response, isOfClient ? undefined : request.path);
    const made = await shares.run(asker, () => answerTo(request));
    requireAllowed(request);
    if (made === undefined) return;
    const { commit, answer } = made;
    const [first, second] = answer.pieces;
    const requestId = requestIdOf(response);
    if (first !== undefined && second === undefined) {
      sendSerialized(request, response, { commit, requestId, answer: { ...answer, json: first } });
      return;
    }
    const hasBody = writeReadHead(request, response, { commit, requestId, ...answer });
    if (!hasBody || request.method === 'HEAD') response.end();
    else await sendPieced(response, answer);
  };
}

/** Returns work that writes a body as JSON, the same as JSON.stringify does, in pieces that end between two items of a list. */
export function* serializeInSteps(body: Steps<unknown>): Steps<PiecedAnswer> {
  const pieces = new Pieces();
  const value = yield* body;
  if (Array.isArray(value)) yield* addList(pieces, value);
  else if (isMap(value)) yield* addFields(pieces, value);
  else pieces.add(JSON.stringify(value));
  return pieces.end();
}

function* addList(pieces: Pieces, items: readonly unknown[]): Steps<void> {
  let before = '[';
  yield* visitAll(items, (item) => {
    pieces.add(`${before}${JSON.stringify(item) ?? 'null'}`);
    before = ',';
  });
  pieces.add(items.length === 0 ? '[]' : ']');
}

function* addFields(pieces: Pieces, fields: Readonly<Record<string, unknown>>): Steps<void> {
  let before = '{';
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    pieces.add(`${before}${JSON.stringify(name)}:`);
    if (Array.isArray(value)) yield* addList(pieces, value);
    else pieces.add(JSON.stringify(value));
    before = ',';
  }
  pieces.add(before === '{' ? '{}' : '}');
}

/** Collects a text in pieces of moderate length, and hashes it. */
class Pieces {
  readonly #digest = createHash('sha256');
  readonly #pieces: string[] = [];
  #texts: string[] = [];
  #length = 0;
  #bytes = 0;

  add(text: string): void {
    this.#texts.push(text);
    this.#length += text.length;
    if (this.#length >= PIECE_LENGTH) this.#take(PIECE_LENGTH);
  }

  end(): PiecedAnswer {
    this.#take(1);
    return { pieces: this.#pieces, bytes: this.#bytes, etag: tagOf(this.#digest.digest('base64url')) };
  }

  /** Takes pieces as long as so much is left; the rest waits for more, so that no small piece delays the next. */
  #take(lengthMin: number): void {
    const text = this.#texts.join('');
    let start = 0;
    // A single item may be long.
    while (text.length - start >= lengthMin) {
      const piece = pieceFrom(text, start);
      this.#digest.update(piece);
      this.#bytes += Buffer.byteLength(piece);
      this.#pieces.push(piece);
      start += piece.length;
    }
    this.#texts = [text.slice(start)];
    this.#length = text.length - start;
  }
}

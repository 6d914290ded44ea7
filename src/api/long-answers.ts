// Sends long answers as fast as their clients read, and holds a text once, however many clients are sent it: a client that
// stops reading keeps a piece of it in memory, and not a copy of its own.
import type { ServerResponse } from 'node:http';
import type { SerializedAnswer } from './answer-cache.ts';
import { logOverShare, refusalOf } from './authenticate.ts';
import { clientTurns } from './client-turns.ts';
import { fingerprintOf } from './peer.ts';

/** Characters that are written at once. A text that is not longer is sent as it is. */
export const PIECE_LENGTH = 128 * 1024;

/** A body as text, and its bytes in UTF-8. */
export type AnswerText = Omit<SerializedAnswer, 'etag'>;

/** A body in pieces of moderate length, none of which ends within a character, and its tag. */
export interface PiecedAnswer extends Omit<SerializedAnswer, 'json'> {
  readonly pieces: readonly string[];
}

/** The answers that somebody holds, by tag. */
export class HeldAnswers<Answer extends { readonly etag: string }> {
  readonly #held = new Map<string, WeakRef<Answer>>();
  readonly #released = new FinalizationRegistry<string>((etag) => {
    if (this.#held.get(etag)?.deref() === undefined) this.#held.delete(etag);
  });

  /** Returns the answer with the same text that somebody holds; else this one. */
  share(answer: Answer): Answer {
    const same = this.#held.get(answer.etag)?.deref();
    if (same !== undefined) return same;
    this.#held.set(answer.etag, new WeakRef(answer));
    this.#released.register(answer, answer.etag);
    return answer;
  }
}

const heldTexts = new HeldAnswers<SerializedAnswer>();
const heldPieces = new HeldAnswers<PiecedAnswer>();

/** Returns true for an answer that is sent in pieces. */
export function isLong({ json }: AnswerText): boolean {
  return json.length > PIECE_LENGTH;
}

/** Returns the answer with the same text that somebody holds; else this one. */
export function shareLong(answer: SerializedAnswer): SerializedAnswer {
  return isLong(answer) ? heldTexts.share(answer) : answer;
}

/** Returns the same for an answer in pieces. */
export function sharePieced(answer: PiecedAnswer): PiecedAnswer {
  return answer.pieces.length > 1 ? heldPieces.share(answer) : answer;
}

/**
 * So much may the long answers take that are being sent, all together and those of one client. An answer that is sent several
 * times counts once.
 */
interface SentLimits {
  readonly bytes: number;
  readonly bytesOfClient: number;
  /** What each connection holds beside the answer: a piece that is written and not read. */
  readonly bytesOfConnection: number;
  /** What it holds beside that where the answer is packed. */
  readonly bytesOfPacker: number;
}

const SENT_LIMITS: SentLimits = {
  bytes: 256 * 1024 * 1024,
  bytesOfClient: 64 * 1024 * 1024,
  // As text, and encrypted.
  bytesOfConnection: 2 * PIECE_LENGTH,
  // The piece as bytes, and the window and tables of gzip.
  bytesOfPacker: 3 * PIECE_LENGTH,
};

/** One answer to one client. */
interface Sent {
  readonly client: string;
  readonly answer: Pick<SerializedAnswer, 'bytes'>;
}

/** The answers that are counted, and what they take. */
class Counted {
  readonly #answers = new Set<Sent['answer']>();
  #bytes = 0;

  /** Returns true if one more connection, which holds so much, with an answer takes no more than is left of `max`. */
  fits(answer: Sent['answer'], held: number, max: number): boolean {
    return this.#bytes + this.#costOf(answer, held) <= max;
  }

  add(answer: Sent['answer'], held: number): void {
    this.#bytes += this.#costOf(answer, held);
    this.#answers.add(answer);
  }

  #costOf(answer: Sent['answer'], held: number): number {
    return held + (this.#answers.has(answer) ? 0 : answer.bytes);
  }
}

/** The long answers that are being sent. */
export class SentAnswers {
  readonly #limits: SentLimits;
  /** By response; the one whose client has read nothing for longest comes first. */
  readonly #sent = new Map<ServerResponse, Sent>();

  constructor(limits: SentLimits) {
    this.#limits = limits;
  }

  /**
   * Sends an answer as fast as its client reads. Where those of this client, or all, take too much, the connections of them that
   * have read nothing for longest are closed.
   */
  async send(response: ServerResponse, sent: Sent, pieces: Iterable<string>): Promise<void> {
    this.#sent.set(response, sent);
    this.#makeRoom(response);
    try {
      await sendPieces(response, sent.client, this.#noteReads(response, sent, pieces));
    } finally {
      this.#sent.delete(response);
    }
  }

  /** A piece is taken once the client has read most of the one before. */
  *#noteReads(response: ServerResponse, sent: Sent, pieces: Iterable<string>): Generator<string> {
    for (const piece of pieces) {
      this.#sent.delete(response);
      this.#sent.set(response, sent);
      yield piece;
    }
  }

  #makeRoom(newest: ServerResponse): void {
    const { bytes, bytesOfClient, bytesOfConnection, bytesOfPacker } = this.#limits;
    const all = new Counted();
    const byClient = new Map<string, Counted>();
    for (const [response, { client, answer }] of [...this.#sent].reverse()) {
      const own = byClient.get(client) ?? new Counted();
      byClient.set(client, own);
      const held = bytesOfConnection + (response.hasHeader('Content-Encoding') ? bytesOfPacker : 0);
      const fits = own.fits(answer, held, bytesOfClient) && all.fits(answer, held, bytes);
      if (response !== newest && !fits) {
        logOverShare(response.req, 'answers that it does not read');
        this.#sent.delete(response);
        response.destroy();
        continue;
      }
      own.add(answer, held);
      all.add(answer, held);
    }
  }
}

/** Those of this process. */
export const sentAnswers = new SentAnswers(SENT_LIMITS);

/** Sends a long answer whose head is written. */
export async function sendLong(response: ServerResponse, answer: AnswerText): Promise<void> {
  await sentAnswers.send(response, { client: fingerprintOf(response.req), answer }, piecesOf(answer));
}

/** Sends an answer in pieces whose head is written. */
export async function sendPieced(response: ServerResponse, answer: PiecedAnswer): Promise<void> {
  await sentAnswers.send(response, { client: fingerprintOf(response.req), answer }, eachPiece(answer));
}

/** Sends as fast as the client reads, and no more once it may not ask any more. One that goes away in between is no failure. */
async function sendPieces(response: ServerResponse, client: string, pieces: Iterable<string>): Promise<void> {
  let goOn = (): void => undefined;
  for (const event of ['drain', 'close'] as const) response.on(event, () => goOn());
  for (const piece of pieces) {
    if (refusalOf(response.req) !== undefined) response.destroy();
    if (response.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    goOn = resolve;
    clientTurns.take(client, () => {
      if (writeAtOnce(response, piece)) resolve();
    });
    await promise;
  }
  response.end();
}

/** Returns true where the next piece may follow. Node would encrypt at the end of the step, when the turn of the client is over. */
function writeAtOnce(response: ServerResponse, piece: string): boolean {
  if (response.destroyed) return true;
  response.socket?.cork();
  const mayFollow = response.write(piece);
  response.socket?.uncork();
  return mayFollow;
}

/** Holds the answer, and not the list of its pieces alone, until the last one is taken: that is what others find. */
function* eachPiece(answer: PiecedAnswer): Generator<string> {
  for (let at = 0; at < answer.pieces.length; at += 1) yield answer.pieces[at] ?? '';
}

/** Holds the answer, and not the text alone, until the last piece is taken: that is what others find. */
function* piecesOf(answer: AnswerText): Generator<string> {
  for (let start = 0; start < answer.json.length; ) {
    const piece = pieceFrom(answer.json, start);
    yield piece;
    start += piece.length;
  }
}

/** Returns the piece of a text that begins there, of moderate length. */
export function pieceFrom(text: string, start: number): string {
  const end = start + PIECE_LENGTH;
  // Two surrogates are one character, and encoded together.
  const isCut = /[\ud800-\udbff]/.test(text.charAt(end - 1));
  return text.slice(start, isCut ? end + 1 : end);
}

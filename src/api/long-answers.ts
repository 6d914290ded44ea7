// Sends long answers as fast as their clients read, and holds a text once, however many clients are sent it: a client that
// stops reading keeps a piece of it in memory, and not a copy of its own.
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { SerializedAnswer } from './answer-cache.ts';

/** Characters that are written at once. A text that is not longer is sent as it is. */
export const PIECE_LENGTH = 128 * 1024;

/** A body in pieces of moderate length, none of which ends within a character, and its tag. */
export interface PiecedAnswer extends Omit<SerializedAnswer, 'json'> {
  readonly pieces: readonly string[];
}

/** The answers that somebody holds, by tag. */
class HeldAnswers<Answer extends { readonly etag: string }> {
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
export function isLong({ json }: SerializedAnswer): boolean {
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

/** All long answers that are being sent may take so much. Those that many clients are sent count once. */
const SENT_BYTES_MAX = 256 * 1024 * 1024;

type SizedAnswer = Pick<SerializedAnswer, 'bytes'>;

/** The long answers that are being sent, which take `bytesMax` together. */
export class SentAnswers {
  readonly #bytesMax: number;
  /** By response; the one whose client has read nothing for longest comes first. */
  readonly #sent = new Map<ServerResponse, SizedAnswer>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Sends an answer as fast as its client reads. Where all take too much, the connections of clients that have read nothing for
   * longest are closed.
   */
  async send(response: ServerResponse, answer: SizedAnswer, pieces: Iterable<string>): Promise<void> {
    this.#sent.set(response, answer);
    this.#makeRoom(response);
    try {
      await sendPieces(response, this.#noteReads(response, answer, pieces));
    } finally {
      this.#sent.delete(response);
    }
  }

  /** A piece is taken once the client has read most of the one before. */
  *#noteReads(response: ServerResponse, answer: SizedAnswer, pieces: Iterable<string>): Generator<string> {
    for (const piece of pieces) {
      this.#sent.delete(response);
      this.#sent.set(response, answer);
      yield piece;
    }
  }

  #makeRoom(newest: ServerResponse): void {
    const kept = new Set<SizedAnswer>();
    let bytes = 0;
    for (const [response, answer] of [...this.#sent].reverse()) {
      if (kept.has(answer)) continue;
      if (response !== newest && bytes + answer.bytes > this.#bytesMax) {
        response.destroy();
        continue;
      }
      kept.add(answer);
      bytes += answer.bytes;
    }
  }
}

const sentAnswers = new SentAnswers(SENT_BYTES_MAX);

/** Sends a long answer whose head is written. */
export async function sendLong(response: ServerResponse, answer: SerializedAnswer): Promise<void> {
  await sentAnswers.send(response, answer, piecesOf(answer));
}

/** Sends an answer in pieces whose head is written. */
export async function sendPieced(response: ServerResponse, answer: PiecedAnswer): Promise<void> {
  await sentAnswers.send(response, answer, eachPiece(answer));
}

/** Sends as fast as the client reads. One that goes away in between is no failure. */
export async function sendPieces(response: ServerResponse, pieces: Iterable<string>): Promise<void> {
  let goOn = (): void => undefined;
  for (const event of ['drain', 'close'] as const) response.on(event, () => goOn());
  for (const piece of pieces) {
    if (response.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    goOn = resolve;
    if (!response.write(piece)) await promise;
    else await setImmediate();
  }
  response.end();
}

/** Holds the answer, and not the list of its pieces alone, until the last one is taken: that is what others find. */
function* eachPiece(answer: PiecedAnswer): Generator<string> {
  for (let at = 0; at < answer.pieces.length; at += 1) yield answer.pieces[at] ?? '';
}

/** Holds the answer, and not the text alone, until the last piece is taken: that is what others find. */
function* piecesOf(answer: SerializedAnswer): Generator<string> {
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

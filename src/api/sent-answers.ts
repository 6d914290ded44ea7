// Sends answers as fast as their clients read, and counts what clients have not read: each has its share of it.
// ARCHITECTURE.md, "Fairness".
import type { ServerResponse } from 'node:http';
import { type AnswerText, PIECE_LENGTH, type PiecedAnswer } from './answer.ts';
import { findRefusal, logOverShare } from './authenticate.ts';
import { clientTurns } from './client-turns.ts';

/** Shorter answers are not counted: of the 1,000 connections of a client, they take 12 MiB at most. */
export const COUNTED_BYTES_MIN = 4 * 1024;

/**
 * So much may the answers take that are being sent, all together and those of one client. An answer that is sent several
 * times counts once.
 */
interface SentLimits {
  readonly bytes: number;
  readonly bytesOfClient: number;
  /** What each connection holds beside a long answer: a piece that is written and not read. */
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

/** An answer; its tag, where it has one, says that another with the same tag has the same bytes. */
interface SentText extends Pick<AnswerText, 'bytes'>, Partial<Pick<PiecedAnswer, 'etag'>> {
  readonly pieces: readonly (string | Uint8Array)[];
}

/** One answer to one client. */
interface Sent {
  readonly client: string;
  readonly answer: SentText;
  /** What its connection holds beside the answer. */
  readonly held: number;
}

/** What answers take. */
class Counted {
  /** By answer, over how many connections it is sent. */
  readonly #answers = new Map<SentText, number>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add({ answer, held }: Sent): void {
    const count = this.#answers.get(answer) ?? 0;
    this.#answers.set(answer, count + 1);
    this.#bytes += held + (count === 0 ? answer.bytes : 0);
  }

  remove({ answer, held }: Sent): void {
    const count = (this.#answers.get(answer) ?? 0) - 1;
    if (count === 0) this.#answers.delete(answer);
    else this.#answers.set(answer, count);
    this.#bytes -= held + (count === 0 ? answer.bytes : 0);
  }
}

/** The answers that are being sent, but for the shortest. */
export class SentAnswers {
  readonly #limits: SentLimits;
  /** By response; the one whose client has read nothing for longest comes first. */
  readonly #sent = new Map<ServerResponse, Sent>();
  readonly #all = new Counted();
  readonly #byClient = new Map<string, Counted>();

  constructor(limits: SentLimits) {
    this.#limits = limits;
  }

  /**
   * Sends an answer whose head is written as fast as its client reads, a long one no more once the client may not ask any more.
   * Resolves once the client has read it or is gone. Where the answers of this client, or all, take too much, the connections of
   * them that have read nothing for longest are closed.
   */
  send(response: ServerResponse, client: string, answer: SentText): Promise<void> {
    // Its end was told already.
    if (response.destroyed) return Promise.resolve();
    const sent = { client, answer: this.#inMemory(answer), held: this.#heldOf(response, answer) };
    this.#closeUnread(response, sent, this.#begin(response, sent));
    // A function that waits keeps its parameters in memory: the one below must not have the text that was made again.
    return this.#sendToEnd(response, sent);
  }

  async #sendToEnd(response: ServerResponse, sent: Sent): Promise<void> {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    response.once('close', resolve);
    try {
      if (sent.answer.pieces.length > 1) await this.#sendPieces(response, sent);
      else sendAtOnce(response, sent.answer);
      await closed;
    } finally {
      this.#end(response);
    }
  }

  async #sendPieces(response: ServerResponse, sent: Sent): Promise<void> {
    let goOn = (): void => undefined;
    for (const event of ['drain', 'close'] as const) response.on(event, () => goOn());
    for (const piece of sent.answer.pieces) {
      if (findRefusal(response.req) !== undefined) response.destroy();
      if (response.destroyed) return;
      // The client has read most of the piece before.
      this.#sent.delete(response);
      this.#sent.set(response, sent);
      const { promise, resolve } = Promise.withResolvers<void>();
      goOn = resolve;
      clientTurns.inTurn(sent.client, () => {
        if (writeAtOnce(response, piece)) resolve();
      });
      await promise;
    }
    response.end();
  }

  /** Returns the same answer as it is sent to another client already, so that its text is in memory once. */
  #inMemory(answer: SentText): SentText {
    if (answer.etag === undefined || answer.pieces.length === 1) return answer;
    for (const { answer: other } of this.#sent.values()) if (other.etag === answer.etag) return other;
    return answer;
  }

  #heldOf(response: ServerResponse, { pieces, bytes }: SentText): number {
    const { bytesOfConnection, bytesOfPacker } = this.#limits;
    const isShort = pieces.length === 1;
    // What is no longer than Node takes before it asks to wait is packed at once, and nothing of gzip is left.
    const isPacking = response.hasHeader('Content-Encoding') && !(isShort && bytes <= response.writableHighWaterMark);
    return (isShort ? 2 * bytes : bytesOfConnection) + (isPacking ? bytesOfPacker : 0);
  }

  /** Returns what the answers of its client take. */
  #begin(response: ServerResponse, sent: Sent): Counted {
    this.#sent.set(response, sent);
    const own = this.#byClient.get(sent.client) ?? new Counted();
    this.#byClient.set(sent.client, own);
    own.add(sent);
    this.#all.add(sent);
    return own;
  }

  #end(response: ServerResponse): void {
    const sent = this.#sent.get(response);
    if (sent === undefined) return;
    this.#sent.delete(response);
    const own = this.#byClient.get(sent.client);
    own?.remove(sent);
    if (own?.bytes === 0) this.#byClient.delete(sent.client);
    this.#all.remove(sent);
  }

  /** The client's own come first. */
  #closeUnread(newest: ServerResponse, { client }: Sent, own: Counted): void {
    const { bytes, bytesOfClient } = this.#limits;
    for (const [response, sent] of this.#sent) {
      if (own.bytes <= bytesOfClient) break;
      if (response !== newest && sent.client === client) this.#close(response);
    }
    for (const response of this.#sent.keys()) {
      if (this.#all.bytes <= bytes) break;
      if (response !== newest) this.#close(response);
    }
  }

  #close(response: ServerResponse): void {
    logOverShare(response.req, 'answers that it does not read');
    this.#end(response);
    response.destroy();
  }
}

/** Those of this process. */
export const sentAnswers = new SentAnswers(SENT_LIMITS);

/** Returns true where the next piece may follow. Node would encrypt at the end of the step, when the turn of the client is over. */
function writeAtOnce(response: ServerResponse, piece: string | Uint8Array): boolean {
  if (response.destroyed) return true;
  response.socket?.cork();
  const mayFollow = response.write(piece);
  response.socket?.uncork();
  return mayFollow;
}

/** Sends an answer of one piece. Text of ASCII alone is the same bytes in both, and Node writes one byte a character much faster. */
export function sendAtOnce(response: ServerResponse, { pieces: [piece = ''], bytes }: SentText): void {
  response.end(piece, bytes === piece.length ? 'latin1' : 'utf8');
}

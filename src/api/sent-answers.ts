// Sends long answers as fast as their clients read, and counts what clients have not read: each has its share of it.
// docs/decisions/0031-shares.md.
import type { ServerResponse } from 'node:http';
import { type AnswerText, PIECE_LENGTH, type PiecedAnswer } from './answer.ts';
import { logOverShare, refusalOf } from './authenticate.ts';
import { clientTurns } from './client-turns.ts';

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

/** An answer; its tag, where it has one, says that another with the same tag has the same bytes. */
type SentText = AnswerText & Partial<Pick<PiecedAnswer, 'etag'>>;

/** One answer to one client. */
interface Sent {
  readonly client: string;
  readonly answer: SentText;
}

/** The answers that are counted, and what they take. */
class Counted {
  readonly #answers = new Set<SentText>();
  #bytes = 0;

  /** Returns true if one more connection, which holds so much, with an answer takes no more than is left of `max`. */
  fits(answer: SentText, held: number, max: number): boolean {
    return this.#bytes + this.#costOf(answer, held) <= max;
  }

  add(answer: SentText, held: number): void {
    this.#bytes += this.#costOf(answer, held);
    this.#answers.add(answer);
  }

  #costOf(answer: SentText, held: number): number {
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
   * Sends an answer whose head is written as fast as its client reads, and no more once the client may not ask any more. Where the
   * answers of this client, or all, take too much, the connections of them that have read nothing for longest are closed.
   */
  async send(response: ServerResponse, client: string, answer: SentText): Promise<void> {
    const sent = { client, answer: this.#inMemory(answer) };
    this.#sent.set(response, sent);
    this.#closeUnread(response);
    try {
      await this.#sendPieces(response, sent);
    } finally {
      this.#sent.delete(response);
    }
  }

  async #sendPieces(response: ServerResponse, sent: Sent): Promise<void> {
    let goOn = (): void => undefined;
    for (const event of ['drain', 'close'] as const) response.on(event, () => goOn());
    for (const piece of sent.answer.pieces) {
      if (refusalOf(response.req) !== undefined) response.destroy();
      if (response.destroyed) return;
      // The client has read most of the piece before.
      this.#sent.delete(response);
      this.#sent.set(response, sent);
      const { promise, resolve } = Promise.withResolvers<void>();
      goOn = resolve;
      clientTurns.take(sent.client, () => {
        if (writeAtOnce(response, piece)) resolve();
      });
      await promise;
    }
    response.end();
  }

  /** Returns the same answer as it is sent to another client already, so that its text is in memory once. */
  #inMemory(answer: SentText): SentText {
    if (answer.etag === undefined) return answer;
    for (const { answer: other } of this.#sent.values()) if (other.etag === answer.etag) return other;
    return answer;
  }

  #closeUnread(newest: ServerResponse): void {
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

/** Returns true where the next piece may follow. Node would encrypt at the end of the step, when the turn of the client is over. */
function writeAtOnce(response: ServerResponse, piece: string): boolean {
  if (response.destroyed) return true;
  response.socket?.cork();
  const mayFollow = response.write(piece);
  response.socket?.uncork();
  return mayFollow;
}

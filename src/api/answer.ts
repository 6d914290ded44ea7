// Writes answers as JSON with their tag, in pieces of moderate length. Other work runs while a long one is written.
import { createHash, type Hash } from 'node:crypto';
import type { Breathe } from '../base/breathe.ts';
import { DIGEST_LENGTH, shortDigest } from '../base/short-digest.ts';
import { isMap } from '../model/json.ts';

/** Characters that are written at once. A text that is not longer is one piece. */
export const PIECE_LENGTH = 128 * 1024;

/** A body as JSON. */
export interface AnswerText {
  /** None ends within a character. */
  readonly pieces: readonly string[];
  /** In UTF-8. */
  readonly bytes: number;
}

/** A body as it is sent, with its tag. The tag names these very bytes. */
export interface PiecedAnswer extends AnswerText {
  readonly etag: string;
}

/** Returns the answer of a text of JSON. */
export function cutText(json: string): AnswerText {
  return { pieces: cut(json), bytes: Buffer.byteLength(json) };
}

/**
 * Returns a body as it is sent. `oid`: the blob of the file that it was read from, or null where there is none. The tag is
 * `"<blob>.<digest>"`: the first part changes with the file, the second also with what became of it.
 */
export function writeAnswer(body: unknown, oid: string | null = null): PiecedAnswer {
  const json = JSON.stringify(body);
  return { ...cutText(json), etag: oid === null ? tagOf(json) : `"${oid}.${tagOf(json).slice(1)}` };
}

/** Returns the tag of a text of JSON that no file has. */
export function tagOf(json: string): string {
  return `"${shortDigest(json)}"`;
}

function cut(text: string): readonly string[] {
  if (text.length <= PIECE_LENGTH) return [text];
  const pieces: string[] = [];
  for (let start = 0; start < text.length; start += pieces.at(-1)?.length ?? 0) pieces.push(pieceFrom(text, start));
  return pieces;
}

/** Returns the piece of a text that begins there, of moderate length. */
function pieceFrom(text: string, start: number): string {
  const end = start + PIECE_LENGTH;
  // Two surrogates are one character, and encoded together.
  const isCut = /[\ud800-\udbff]/.test(text.charAt(end - 1));
  return text.slice(start, isCut ? end + 1 : end);
}

/** Writes a list, or an object with lists, as JSON.stringify does, and lets other work run between two items. */
export async function writeLong(value: unknown, breathe: Breathe): Promise<PiecedAnswer> {
  const answer = new AnswerWriter();
  if (Array.isArray(value)) await addList(answer, value, breathe);
  else if (isMap(value)) await addFields(answer, value, breathe);
  else answer.add(JSON.stringify(value));
  return answer.end();
}

async function addList(answer: AnswerWriter, items: readonly unknown[], breathe: Breathe): Promise<void> {
  let before = '[';
  for (const item of items) {
    answer.add(`${before}${JSON.stringify(item) ?? 'null'}`);
    before = ',';
    await breathe();
  }
  answer.add(items.length === 0 ? '[]' : ']');
}

async function addFields(
  answer: AnswerWriter,
  fields: Readonly<Record<string, unknown>>,
  breathe: Breathe,
): Promise<void> {
  let before = '{';
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    answer.add(`${before}${JSON.stringify(name)}:`);
    if (Array.isArray(value)) await addList(answer, value, breathe);
    else answer.add(JSON.stringify(value));
    before = ',';
  }
  answer.add(before === '{' ? '{}' : '}');
}

/** Collects the JSON of one answer in pieces, and hashes it. */
export class AnswerWriter {
  readonly #digest: Hash = createHash('sha256');
  readonly #pieces: string[] = [];
  #texts: string[] = [];
  #length = 0;
  #bytes = 0;

  add(text: string): void {
    this.#texts.push(text);
    this.#length += text.length;
    if (this.#length >= PIECE_LENGTH) this.#cutPieces(PIECE_LENGTH);
  }

  end(): PiecedAnswer {
    this.#cutPieces(1);
    const digest = this.#digest.digest('base64url').slice(0, DIGEST_LENGTH);
    return { pieces: this.#pieces, bytes: this.#bytes, etag: `"${digest}"` };
  }

  /** Cuts pieces as long as so much is left; the rest waits for more, so that no small piece delays the next. */
  #cutPieces(lengthMin: number): void {
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

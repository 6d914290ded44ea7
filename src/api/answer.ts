// Writes answers as JSON with their tag, in pieces of moderate length. Other work runs while a long one is written.
import { createHash, type Hash } from 'node:crypto';
import type { Breathe } from '../base/breathe.ts';
import { DIGEST_LENGTH, shortDigest } from '../base/short-digest.ts';
import { isMap } from '../model/json.ts';

/** Bytes that are written at once: TLS encrypts all that it is given in one turn. */
const PIECE_BYTES = 128 * 1024;

/** A body as JSON in UTF-8, with the tag that names these very bytes. */
export interface WrittenAnswer {
  readonly pieces: readonly Uint8Array[];
  readonly bytes: number;
  readonly etag: string;
}

/**
 * Returns a body as it is sent. `oid`: the blob of the file that it was read from, or null if there is none. The tag is
 * `"<blob>.<digest>"`: the first part changes with the file, the second also with what became of it.
 */
export function writeAnswer(body: unknown, oid: string | null = null): WrittenAnswer {
  const json = JSON.stringify(body);
  const etag = oid === null ? tagOf(json) : `"${oid}.${tagOf(json).slice(1)}`;
  return { ...cutText(json), etag };
}

/** Returns a text of JSON as it is sent. */
export function cutText(json: string): Omit<WrittenAnswer, 'etag'> {
  const body = Buffer.from(json);
  return { pieces: [...cut(body)], bytes: body.length };
}

/** Cuts a body into pieces. */
function* cut(body: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < body.length; start += PIECE_BYTES) yield body.subarray(start, start + PIECE_BYTES);
}

/** Returns the tag of a text of JSON that no file has. */
export function tagOf(json: string): string {
  return `"${shortDigest(json)}"`;
}

/** Writes a list, or an object with lists, as JSON.stringify does, and lets other work run between two items. */
export async function writeLong(value: unknown, breathe: Breathe): Promise<WrittenAnswer> {
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

/** Collects the JSON of one answer, and hashes it. */
export class AnswerWriter {
  readonly #digest: Hash = createHash('sha256');
  readonly #pieces: Uint8Array[] = [];
  #texts: string[] = [];
  #length = 0;
  #bytes = 0;

  /** Adds a text that ends with a whole character. */
  add(text: string): void {
    this.#texts.push(text);
    this.#length += text.length;
    if (this.#length >= PIECE_BYTES) this.#flush();
  }

  end(): WrittenAnswer {
    if (this.#length > 0) this.#flush();
    const digest = this.#digest.digest('base64url').slice(0, DIGEST_LENGTH);
    return { pieces: this.#pieces, bytes: this.#bytes, etag: `"${digest}"` };
  }

  #flush(): void {
    const bytes = Buffer.from(this.#texts.join(''));
    this.#texts = [];
    this.#length = 0;
    this.#digest.update(bytes);
    this.#bytes += bytes.length;
    this.#pieces.push(...cut(bytes));
  }
}

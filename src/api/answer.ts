// Writes answers as JSON with their tag, in pieces of moderate length. Other work runs while a long one is written.
import { createHash } from 'node:crypto';
import type { Breathe } from '../base/breathe.ts';
import { DIGEST_LENGTH, shortDigest } from '../base/short-digest.ts';
import { isMap } from '../model/json.ts';

/** Bytes that are written at once: TLS encrypts all that it is given in one turn. */
const PIECE_BYTES = 128 * 1024;

/** A body as JSON in UTF-8, with the tag that names these very bytes. */
export interface WrittenAnswer {
  /** A short body is one text: Node sends a text and the head at once. */
  readonly pieces: readonly (Uint8Array | string)[];
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
  const bytes = Buffer.byteLength(json);
  return { pieces: bytes <= PIECE_BYTES ? [json] : [...cut(Buffer.from(json))], bytes };
}

/** Cuts a body into pieces. */
function* cut(body: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < body.length; start += PIECE_BYTES) yield body.subarray(start, start + PIECE_BYTES);
}

/** Returns the tag of a text of JSON that no file has. */
export function tagOf(json: string): string {
  return `"${shortDigest(json)}"`;
}

/**
 * Writes a list or another iterable, or an object with some, as JSON.stringify writes lists. Lets other work run between
 * two items.
 */
export function writeLong(value: unknown, breathe: Breathe): Promise<WrittenAnswer> {
  return writeTexts(textsOf(value), breathe);
}

function* textsOf(value: unknown): Generator<string> {
  if (isList(value)) yield* textsOfList(value);
  else if (isMap(value)) {
    let before = '{';
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* isList(field) ? textsOfList(field) : [JSON.stringify(field)];
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else yield JSON.stringify(value);
}

function isList(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

function* textsOfList(items: Iterable<unknown>): Generator<string> {
  let before = '[';
  for (const item of items) {
    yield `${before}${JSON.stringify(item) ?? 'null'}`;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

/** Writes texts that together are JSON, each of whole characters, and lets other work run between two of them. */
export async function writeTexts(texts: Iterable<string>, breathe: Breathe): Promise<WrittenAnswer> {
  const digest = createHash('sha256');
  const pieces: Uint8Array[] = [];
  let [text, bytes] = ['', 0];
  const flush = (): void => {
    const written = Buffer.from(text);
    digest.update(written);
    pieces.push(...cut(written));
    bytes += written.length;
    text = '';
  };
  for (const next of texts) {
    text += next;
    if (text.length >= PIECE_BYTES) flush();
    await breathe();
  }
  flush();
  return { pieces, bytes, etag: `"${digest.digest('base64url').slice(0, DIGEST_LENGTH)}"` };
}

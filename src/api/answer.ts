// Writes answers as JSON with their tag, in chunks of moderate length. Other work runs while a long answer is written.
import { createHash } from 'node:crypto';
import type { Breathe } from '../base/breathe.ts';
import { DIGEST_LENGTH, shortDigest } from '../base/short-digest.ts';
import { isMap } from '../model/json.ts';

/** The size of one write. TLS encrypts each write in one turn of the event loop. */
const PIECE_BYTES = 128 * 1024;

/** A body as JSON in UTF-8, with the tag of exactly these bytes. */
export interface WrittenAnswer {
  /** A short body is one string, because Node sends a string together with the head. */
  readonly pieces: readonly (Uint8Array | string)[];
  readonly bytes: number;
  readonly etag: string;
}

/**
 * Returns a body as bytes with its tag. `oid`: the blob of the object's file, or null if there is none. The tag is
 * `"<blob>.<digest>"`: the blob changes with the file, the digest with every change of the body.
 */
export function writeAnswer(body: unknown, oid: string | null = null): WrittenAnswer {
  const json = JSON.stringify(body);
  const etag = oid === null ? tagOf(json) : `"${oid}.${tagOf(json).slice(1)}`;
  return { ...cutText(json), etag };
}

/** Returns a JSON text in the form in which it is sent. */
export function cutText(json: string): Omit<WrittenAnswer, 'etag'> {
  const bytes = Buffer.byteLength(json);
  return { pieces: bytes <= PIECE_BYTES ? [json] : [...cut(Buffer.from(json))], bytes };
}

/** Cuts a body into chunks. */
function* cut(body: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < body.length; start += PIECE_BYTES) yield body.subarray(start, start + PIECE_BYTES);
}

/** Returns the tag of a JSON text that is not read from a file. */
export function tagOf(json: string): string {
  return `"${shortDigest(json)}"`;
}

/**
 * Writes an iterable, or an object with iterables, as JSON.stringify writes lists. Lets other work run between two
 * items.
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

/** Joins texts that together are JSON. Each contains whole characters. Lets other work run between two texts. */
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

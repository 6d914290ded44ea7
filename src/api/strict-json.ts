// Parses JSON as strictly as files: UTF-8 only, no duplicate keys, no numbers that would lose digits. RFC 8259 leaves
// these cases to the parser, and any choice would write something else than was sent.

import { quote, reasonOf } from '../base/wording.ts';
import { below } from '../model/entry.ts';
import { isExact, type Json } from '../model/json.ts';
import { ServiceError } from '../model/service-error.ts';

/** Enough to recognise a number that nothing here can hold. */
const DIGITS_SHOWN = 40;
/** A place that is named in more characters is named by what it is in. */
const POINTER_LENGTH_MAX = 1_000;
/** As deep as a file may be, and as many keys, values, objects and lists. */
const DEPTH_MAX = 64;
const VALUES_MAX = 50_000;
/**
 * In a text that `JSON.parse` has read, everything between two of these has no meaning. In any other, what has no end goes to the end:
 * else the search for it would start over at each quote.
 */
const TOKEN = /"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)|[{}[\],:]|-?\d[\d.eE+-]*|[a-z]+/g;

/**
 * Returns the value of a body. Throws `invalid_input` for what is no UTF-8, no JSON, would not be kept as it was sent, or has more
 * keys than this, in all its objects together. What is too deep or has too many values is not parsed: that takes long.
 */
export function parseStrictJson(bytes: Uint8Array, keysMax = Number.POSITIVE_INFINITY): Json {
  const text = decode(bytes);
  refuseTooMuch(text, keysMax);
  const value = parse(text);
  refuseLosses(text);
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ServiceError('invalid_input', 'The body is not UTF-8: it has to be JSON in UTF-8');
  }
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    const reason = reasonOf(error);
    throw new ServiceError('invalid_input', `The body is not JSON: ${reason}`);
  }
}

/** Throws for more than is read. Looks no further than to where it is no JSON, as the parser. */
function refuseTooMuch(text: string, keysMax: number): void {
  let [depth, keys, values, wasBetween] = [0, 0, 0, false];
  for (const [token] of text.matchAll(TOKEN)) {
    const isBetween = token === ',' || token === ':';
    if (depth < 0 || (isBetween && wasBetween)) return;
    wasBetween = isBetween;
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    else if (token === ':') keys += 1;
    else if (token !== ',') values += 1;
    if (depth > DEPTH_MAX) refuse('', `it has more than ${DEPTH_MAX} objects and lists inside one another`);
    if (keys > keysMax) refuse('', `it has more than ${keysMax} keys, which are all that are read; send fewer`);
    if (values > VALUES_MAX) refuse('', `it has more than ${VALUES_MAX} keys and values, as no file may; send fewer`);
  }
}

/** An object or a list that is being read. */
interface Open {
  /** The keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  /** The last key, or the place in the list. */
  step: string | number;
}

/** Throws for the first key that stands in its object twice, and for the first number that is not kept exactly. */
function refuseLosses(text: string): void {
  const open: Open[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    const inside = open.at(-1);
    if (token === '{' || token === '[') open.push({ keys: token === '{' ? new Set() : undefined, step: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':' && inside?.keys !== undefined) noteKey(inside.keys, open, last);
    else if (token === ',' && typeof inside?.step === 'number') inside.step += 1;
    else if (/^[-\d]/.test(token)) refuseInexact(token, open);
    last = token;
  }
}

function noteKey(keys: Set<string>, open: readonly Open[], written: string): void {
  const key = String(JSON.parse(written));
  const inside = open.at(-1);
  if (inside !== undefined) inside.step = key;
  if (keys.has(key)) refuse(pointerOf(open), `the key ${quote(key)} stands here twice; remove one of the two`);
  keys.add(key);
}

function refuseInexact(written: string, open: readonly Open[]): void {
  if (isExact(Number(written))) return;
  const shown = written.length > DIGITS_SHOWN ? `${written.slice(0, DIGITS_SHOWN)}…` : written;
  const hint = `to keep it as written, put it in quotes: "${shown}"`;
  refuse(pointerOf(open), `the number ${shown} is too large to be kept exactly; ${hint}`);
}

function pointerOf(open: readonly Open[]): string {
  let pointer = '';
  for (const { step } of open) {
    const next = below(pointer, step);
    if (next.length > POINTER_LENGTH_MAX) break;
    pointer = next;
  }
  return pointer;
}

function refuse(pointer: string, message: string): never {
  throw new ServiceError('invalid_input', `${pointer === '' ? 'The body' : pointer}: ${message}`, [
    { pointer, message },
  ]);
}

// Parses JSON as strictly as files: UTF-8 only, no duplicate keys, no numbers that would lose digits. RFC 8259 leaves
// these cases to the parser, and any choice would write something else than was sent.
import { below } from '../model/entry.ts';
import { isExact, type Json } from '../model/json.ts';
import { quote, reasonOf } from '../model/quote.ts';
import { ServiceError } from '../model/service-error.ts';

/** Enough to recognise a number that nothing here can hold. */
const DIGITS_SHOWN = 40;
/** In a text that `JSON.parse` has read, everything between two of these has no meaning. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|-?\d[\d.eE+-]*/g;

/**
 * Returns the value of a body. Throws `invalid_input` for what is no UTF-8, no JSON, would not be kept as it was sent, or has more
 * keys than this, in all its objects together.
 */
export function parseStrictJson(bytes: Uint8Array, keysMax = Number.POSITIVE_INFINITY): Json {
  const text = decode(bytes);
  const value = parse(text);
  refuseLosses(text, keysMax);
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

/** An object or a list that is being read. */
interface Open {
  /** The keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  readonly pointer: string;
  /** The last key, or the place in the list. */
  step: string | number;
}

/** Throws for the first key that stands in its object twice or is one too many, and for the first number that is not kept exactly. */
function refuseLosses(text: string, keysMax: number): void {
  const open: Open[] = [];
  let count = 0;
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    const inside = open.at(-1);
    if (token === '{' || token === '[') {
      open.push({ keys: token === '{' ? new Set() : undefined, pointer: pointerIn(inside), step: 0 });
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ':' && inside?.keys !== undefined) {
      count += 1;
      if (count > keysMax) refuse('', `it has more than ${keysMax} keys, which are all that are read; send fewer`);
      noteKey(inside.keys, inside, last);
    } else if (token === ',' && typeof inside?.step === 'number') inside.step += 1;
    else if (/^[-\d]/.test(token)) refuseInexact(token, inside);
    last = token;
  }
}

function noteKey(keys: Set<string>, inside: Open, written: string): void {
  const key = String(JSON.parse(written));
  inside.step = key;
  if (keys.has(key)) refuse(pointerIn(inside), `the key ${quote(key)} stands here twice; remove one of the two`);
  keys.add(key);
}

function refuseInexact(written: string, inside: Open | undefined): void {
  if (isExact(Number(written))) return;
  const shown = written.length > DIGITS_SHOWN ? `${written.slice(0, DIGITS_SHOWN)}…` : written;
  const hint = `to keep it as written, put it in quotes: "${shown}"`;
  refuse(pointerIn(inside), `the number ${shown} is too large to be kept exactly; ${hint}`);
}

function pointerIn(inside: Open | undefined): string {
  return inside === undefined ? '' : below(inside.pointer, inside.step);
}

function refuse(pointer: string, message: string): never {
  throw new ServiceError('invalid_input', `${pointer === '' ? 'The body' : pointer}: ${message}`, [
    { pointer, message },
  ]);
}

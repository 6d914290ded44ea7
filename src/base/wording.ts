// Words messages: quotes what users have written with a limited length, counts, abbreviates ids, formats times, says
// why a file cannot be used, and suggests the nearest name.
import { distance } from 'fastest-levenshtein';
import type { Json } from '../model/json.ts';
import { compareNames } from '../model/names.ts';

const TEXT_MAX = 80;
const NAMES_MAX = 5;

/** Returns a value as JSON, truncated after 80 characters; a text is truncated within its quotes. */
export function quote(value: Json): string {
  if (typeof value === 'string') return JSON.stringify(cut(value));
  return cut(JSON.stringify(value));
}

/** Returns a character as JSON writes it in ASCII, such as `\\u001b`. */
export function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Control characters but for the tab and the line feed; separators of lines; marks that turn the direction of writing.
 */
export const OBEYED = /[^\P{Cc}\t\n]|[\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Returns a text in which everything that a terminal obeys is escaped as in JSON; tabs and line feeds stay. */
export function visible(text: string): string {
  return text.replace(OBEYED, escapeCharacter);
}

/** Returns names quoted and joined by commas: the first five, and the number of the others. */
export function quoteSome(names: readonly string[]): string {
  return firstNames(names.map(quote));
}

/** Returns names joined by commas: the first five, and the number of the others. */
export function firstNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).join(', ');
  return names.length <= NAMES_MAX ? shown : `${shown} and ${names.length - NAMES_MAX} more`;
}

/**
 * Returns words that name the first character of a name outside of ASCII, ` with U+200B`: it may look like another, or
 * like nothing.
 */
export function withForeignCharacter(name: string): string {
  const code = /[^\0-\x7e]/u.exec(name)?.[0].codePointAt(0);
  return code === undefined ? '' : ` with U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

function cut(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`;
}

/** Returns the message of an error, to be quoted inside another message. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const WHY_UNUSABLE: Readonly<Record<string, string>> = {
  ENOENT: 'it is not there',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is a file and no folder',
  EEXIST: 'it is there already',
  ENOSPC: 'no space is left on its disk',
  EROFS: 'its file system is read-only',
};

/** Returns why a file that the user named cannot be read or written, without its path. */
export function whyUnusable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return (Object.hasOwn(WHY_UNUSABLE, code) ? WHY_UNUSABLE[code] : undefined) ?? error.message;
}

const DISTANCE_MAX = 2;
/** No name of an object is longer; a longer value is not a misspelt name. */
const LENGTH_MAX = 250;
/** More candidates are not looked at: a client that asks for names that are not there makes others wait. */
const CANDIDATES_MAX = 1_000;

/**
 * Returns `did you mean "x"?` for the nearest candidate within edit distance 2 (1 if both have five characters at
 * most), or null. Of several equally near ones it is the first by code unit. The first 1,000 candidates are looked at;
 * the work is small for those of another length.
 */
export function didYouMean(name: string, candidates: Iterable<string>): string | null {
  if (name.length > LENGTH_MAX) return null;
  const wanted = name.toLowerCase();
  let best: { readonly name: string; readonly edits: number } | undefined;
  let seen = 0;
  for (const candidate of candidates) {
    if (++seen > CANDIDATES_MAX) break;
    if (candidate === name || Math.abs(candidate.length - name.length) > DISTANCE_MAX) continue;
    const edits = editDistance(wanted, candidate.toLowerCase());
    if (edits > Math.min(best?.edits ?? DISTANCE_MAX, limitFor(name, candidate))) continue;
    if (best === undefined || edits < best.edits || compareNames(candidate, best.name) < 0) {
      best = { name: candidate, edits };
    }
  }
  return best === undefined ? null : `did you mean "${best.name}"?`;
}

/** Returns a message that ends with what {@link didYouMean} says of a name, if anything. */
export function withSuggestion(message: string, name: string, candidates: Iterable<string>): string {
  const hint = didYouMean(name, candidates);
  return hint === null ? message : `${message}; ${hint}`;
}

/** Half of a short name is another name: `nope` is not `name`. */
function limitFor(a: string, b: string): number {
  const length = Math.max(a.length, b.length);
  if (Math.min(a.length, b.length) === 0 || length < 2) return 0;
  return length < 6 ? 1 : DISTANCE_MAX;
}

/** Returns the Levenshtein distance, with two swapped neighbours counted once. */
function editDistance(a: string, b: string): number {
  const found = distance(a, b);
  return found === 2 && isSwapped(a, b) ? 1 : found;
}

/** Returns true if the texts differ in two neighbours that are swapped. */
function isSwapped(a: string, b: string): boolean {
  const at = [...a].findIndex((character, index) => character !== b[index]);
  return a.slice(0, at) + a.charAt(at + 1) + a.charAt(at) + a.slice(at + 2) === b;
}

/** Returns `1 server`, `5,000 servers`; of another noun than one with an `s`, its plural is given. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : plural}`;
}

/** Returns `5,000`. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

const UNITS_MS: readonly (readonly [unit: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
];

/** Returns a duration in the largest unit that fits: `57 s`, `4 min`, `3 h`, `2 d`. */
export function durationOf(ms: number): string {
  const [unit, size] = UNITS_MS.find(([, least]) => ms >= least) ?? ['s', 1_000];
  return `${Math.max(0, Math.floor(ms / size))} ${unit}`;
}

const LENGTH = 12;

/** Returns the first characters of a commit's id, as people are shown it. */
export function shortOid(oid: string): string {
  return oid.slice(0, LENGTH);
}

/** The last time that was formatted: many rows are stamped within a millisecond. */
let last = { ms: 0, text: '1970-01-01T00:00:00.000Z' };

/** Returns a time as RFC 3339 with milliseconds. */
export function momentOf(ms: number): string {
  if (last.ms !== ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}

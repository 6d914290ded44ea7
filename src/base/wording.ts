// Words messages: quotes texts of users with a limited length, formats counts, ids and times, explains why a file
// cannot be used, and suggests the nearest name.
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

/** Control characters except tab and line feed; line separators; marks that change the direction of writing. */
export const OBEYED = /[^\P{Cc}\t\n]|[\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns a text in which the characters that control a terminal are escaped as in JSON, except tabs and line feeds.
 */
export function visible(text: string): string {
  return text.replace(OBEYED, escapeCharacter);
}

/** Returns the first five names, quoted and joined by commas, and the number of the others. */
export function quoteSome(names: readonly string[]): string {
  return firstNames(names.map(quote));
}

/** Returns the first five names, joined by commas, and the number of the others. */
export function firstNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).join(', ');
  return names.length <= NAMES_MAX ? shown : `${shown} and ${names.length - NAMES_MAX} more`;
}

/**
 * Returns words about the first character of a name outside of ASCII, such as ` with U+200B`: it may be invisible or
 * look like another one.
 */
export function withForeignCharacter(name: string): string {
  const code = /[^\0-\x7e]/u.exec(name)?.[0].codePointAt(0);
  return code === undefined ? '' : ` with U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

function cut(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`;
}

/** Returns the message of an error, for use inside another message. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const WHY_UNUSABLE: Readonly<Record<string, string>> = {
  ENOENT: 'it is not there',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EEXIST: 'it is there already',
  ENOSPC: 'no space is left on its disk',
  EROFS: 'its file system is read-only',
};

/** Returns why a file cannot be read or written, without its path. */
export function whyUnusable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return (Object.hasOwn(WHY_UNUSABLE, code) ? WHY_UNUSABLE[code] : undefined) ?? error.message;
}

const DISTANCE_MAX = 2;
/** Names of objects are at most this long, so a longer value is not a misspelt name. */
const LENGTH_MAX = 250;
/** The most candidates that are compared, because requests for unknown names make other clients wait. */
const CANDIDATES_MAX = 1_000;

/**
 * Returns `did you mean "x"?` for the nearest candidate within edit distance 2 (1 if both have at most five
 * characters), or null. Of several equally near candidates the first by code unit is suggested. Compares the first
 * 1,000 candidates.
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

/** Returns a message, followed by the suggestion of {@link didYouMean} for a name, if any. */
export function withSuggestion(message: string, name: string, candidates: Iterable<string>): string {
  const hint = didYouMean(name, candidates);
  return hint === null ? message : `${message}; ${hint}`;
}

/** Short names have a lower limit: `nope` is not a typo of `name`. */
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

/** Returns `1 server`, `5,000 servers`. Pass the plural of a noun if it does not just add an `s`. */
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

/** Returns the first characters of a commit's id, for display. */
export function shortOid(oid: string): string {
  return oid.slice(0, LENGTH);
}

/** The last formatted time, because many rows get a time within one millisecond. */
let last = { ms: 0, text: '1970-01-01T00:00:00.000Z' };

/** Returns a time as RFC 3339 with milliseconds. */
export function toRfc3339(ms: number): string {
  if (last.ms !== ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}

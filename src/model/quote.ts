// Quotes values and names of users in messages, with a limited length.
import type { Json } from './json.ts';

const TEXT_MAX = 80;
const NAMES_MAX = 5;

/** Returns a value as JSON, truncated after 80 characters; a text is truncated within its quotes. */
export function quote(value: Json): string {
  if (typeof value === 'string') return JSON.stringify(cut(value));
  return cut(JSON.stringify(value));
}

/** Returns names quoted and joined by commas: the first five, and the number of the others. */
export function quoteSome(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map(quote).join(', ');
  return names.length <= NAMES_MAX ? shown : `${shown} and ${names.length - NAMES_MAX} more`;
}

/** Returns words that name the first character of a name outside of ASCII, ` with U+200B`: it may look like another, or like nothing. */
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

/** Returns why a file that the person named cannot be read or written, without its path. */
export function whyUnusable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return (Object.hasOwn(WHY_UNUSABLE, code) ? WHY_UNUSABLE[code] : undefined) ?? error.message;
}

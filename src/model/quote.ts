// How values and names of a user are shown in a message: never longer than a person reads.
import type { Json } from './json.ts';

const TEXT_MAX = 80;
const NAMES_MAX = 5;

/** Returns a value as JSON, cut after 80 characters; a text is cut within its quotes. */
export function quote(value: Json): string {
  if (typeof value === 'string') return JSON.stringify(cut(value));
  return cut(JSON.stringify(value));
}

/** Returns names quoted and joined by commas; of many the first five and how many more there are. */
export function quoteSome(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map(quote).join(', ');
  return names.length <= NAMES_MAX ? shown : `${shown} and ${names.length - NAMES_MAX} more`;
}

function cut(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`;
}

/** Returns what an error says, to be quoted inside another message. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

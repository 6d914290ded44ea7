// Replaces placeholders by values in one pass: a value is never scanned for placeholders.
import { TEXT_LENGTH_MAX } from '../model/keys.ts';
import type { PropertyValue } from '../model/objects.ts';
import type { ArrayToken, Token } from './placeholders.ts';

/** The values of an Array placeholder. */
export interface ValueList {
  readonly items: readonly string[];
  /** The length of the items joined with `,`. */
  readonly length: number;
  /** Joins the items; asked for only where `length` is within the limit. */
  readonly joined: () => string;
}

/** The values of placeholders, which were checked before. */
interface PlaceholderValues {
  readonly parameters: ReadonlyMap<string, string>;
  /** The member's index as written; empty for a single server. */
  readonly index: string;
  readonly listOf: (token: ArrayToken) => ValueList;
}

/**
 * Returns the value of a text: a list where the whole text is one Array placeholder, else a string; null where the
 * string would be longer than {@link TEXT_LENGTH_MAX}.
 */
export function substitute(tokens: readonly Token[], scope: PlaceholderValues): PropertyValue | null {
  const [only] = tokens;
  if (tokens.length === 1 && only?.kind === 'array') return scope.listOf(only).items;
  let text = '';
  for (const token of tokens) {
    if (text.length + lengthOf(token, scope) > TEXT_LENGTH_MAX) return null;
    text += textOf(token, scope);
  }
  return text;
}

function lengthOf(token: Token, scope: PlaceholderValues): number {
  return token.kind === 'array' ? scope.listOf(token).length : textOf(token, scope).length;
}

function textOf(token: Token, { parameters, index, listOf }: PlaceholderValues): string {
  if (token.kind === 'literal') return token.text;
  if (token.kind === 'index') return index;
  if (token.kind === 'array') return listOf(token).joined();
  return parameters.get(token.name) ?? '';
}

/** Returns items as a list that is joined once, however often it is asked for. */
export function valueList(items: readonly string[]): ValueList {
  let joined: string | undefined;
  const commas = Math.max(items.length - 1, 0);
  return {
    items,
    length: items.reduce((sum, item) => sum + item.length, commas),
    joined: () => {
      joined ??= items.join(',');
      return joined;
    },
  };
}

// Finds the placeholders in a text, and replaces them by values in one pass: a value is never scanned for placeholders.
import { invariant } from '../base/invariant.ts';
import { TEXT_LENGTH_MAX } from '../model/keys.ts';
import type { PropertyValue } from '../model/objects.ts';

/** A part of a text. `text` is the unescaped text of a literal, or a placeholder as written. */
export type Token =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'parameter'; readonly text: string; readonly name: string }
  | { readonly kind: 'index'; readonly text: string }
  | ArrayToken
  | OutputToken;

/** `<<(Array)['resource']['property']>>`: a property of every server of another resource. */
export interface ArrayToken {
  readonly kind: 'array';
  readonly text: string;
  readonly resource: string;
  readonly property: string;
}

/** `<<(Output)['resource']['name']>>`: the value that the provider of a resource's servers reports under that name. */
export interface OutputToken {
  readonly kind: 'output';
  readonly text: string;
  readonly resource: string;
  readonly name: string;
}

const PLACEHOLDER = /(<?)<<(?:(\w[\w.-]*)|\((Array|Output)\)\['([^'<>]*)'\]\['([^'<>]*)'\])>>/g;
/** Two adjacent runs of blanks would make matching try every way to divide the blanks between them. */
const LOOKALIKE = /(?<!<)<<(?:(?:\s*(?:\(\s*)?(?:Array|Output)s?\b[^<>]*|\s+\w[\w.-]*\s*)>>|\w[\w.-]*>(?!>))/gi;
const FOREIGN = /\$\{(\w[\w.-]*)\}|\{\{ ?(\w[\w.-]*) ?\}\}/g;

/**
 * Returns the parts of a text in order, without adjacent literals. `<<` that opens none of the four forms is literal.
 * `<<<` before one of the forms is an escaped `<<`, and the rest of that form is literal, too.
 */
export function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let literal = '';
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [written, extra] = match;
    literal += text.slice(end, match.index);
    end = match.index + written.length;
    if (extra === '<') {
      literal += written.slice(1);
      continue;
    }
    if (literal !== '') tokens.push({ kind: 'literal', text: literal });
    literal = '';
    tokens.push(placeholderOf(match));
  }
  literal += text.slice(end);
  return literal === '' ? tokens : [...tokens, { kind: 'literal', text: literal }];
}

/** Returns texts that look like placeholders but are not, as written: `<< zone >>`, `<<(Array)["a"]["b"]>>`. */
export function lookalikes(text: string): readonly string[] {
  return [...text.matchAll(LOOKALIKE)].map(([written]) => written).filter((written) => isLiteral(tokenize(written)));
}

/**
 * Returns placeholders of other template languages, as written: `${zone}`, `{{ zone }}`. Only those of `names` count.
 */
export function foreignPlaceholders(text: string, names: Readonly<Record<string, unknown>>): readonly string[] {
  return [...text.matchAll(FOREIGN)].flatMap(([written, dollar, braces]) =>
    Object.hasOwn(names, dollar ?? braces ?? '') ? [written] : [],
  );
}

/** Returns true if no token is a placeholder. */
export function isLiteral(tokens: readonly Token[]): boolean {
  return tokens.every(({ kind }) => kind === 'literal');
}

/** Returns the text of literal tokens. */
export function literalOf(tokens: readonly Token[]): string {
  return tokens.map(({ text }) => text).join('');
}

function placeholderOf([text, , name, form, resource = '', last = '']: RegExpExecArray): Token {
  if (form === 'Output') return { kind: 'output', text, resource, name: last };
  if (name === undefined) return { kind: 'array', text, resource, property: last };
  return name === 'index' ? { kind: 'index', text } : { kind: 'parameter', text, name };
}

/** The values of an Array placeholder. */
export interface ValueList {
  readonly items: readonly string[];
  /** The items joined with `,`; null if that is longer than {@link TEXT_LENGTH_MAX}. */
  readonly joined: string | null;
}

/** Returns the outputs among the tokens. */
export function outputTokensIn(tokens: readonly Token[]): readonly OutputToken[] {
  return tokens.filter((token) => token.kind === 'output');
}

/** The values of placeholders, which were checked before. Outputs have no values here. */
interface PlaceholderValues {
  readonly parameters: ReadonlyMap<string, string>;
  /** The member's index as written; empty for a single server. */
  readonly index: string;
  readonly listOf: (token: ArrayToken) => ValueList;
}

/**
 * Returns the value of a text: a list if the whole text is one Array placeholder, else a string. Returns null if the
 * string would be longer than {@link TEXT_LENGTH_MAX}.
 */
export function substitute(tokens: readonly Token[], scope: PlaceholderValues): PropertyValue | null {
  const [only] = tokens;
  if (tokens.length === 1 && only?.kind === 'array') return scope.listOf(only).items;
  let text = '';
  for (const token of tokens) {
    const piece = textOf(token, scope);
    if (piece === null || text.length + piece.length > TEXT_LENGTH_MAX) return null;
    text += piece;
  }
  return text;
}

function textOf(token: Token, { parameters, index, listOf }: PlaceholderValues): string | null {
  if (token.kind === 'literal') return token.text;
  if (token.kind === 'index') return index;
  if (token.kind === 'array') return listOf(token).joined;
  invariant(token.kind === 'parameter', 'outputs have no values during expansion');
  return parameters.get(token.name) ?? '';
}

/** Returns items as a list that is joined at most once. */
export function valueList(items: readonly string[]): ValueList {
  const length = items.reduce((sum, item) => sum + item.length + 1, -1);
  return { items, joined: length > TEXT_LENGTH_MAX ? null : items.join(',') };
}

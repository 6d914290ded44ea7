// Runs regular expressions of users with RE2, in time linear in the text for every expression. Knows nothing about
// files; see docs/concepts.md, patterns.
import { RE2JS, RE2JSSyntaxException, RE2Set } from 're2js';

/** The most instructions of all patterns of one list together. The time for each character grows with their number. */
const PATTERN_SIZE_MAX = 1_000;

/**
 * The memory of a list's automaton, enough for usual patterns. A pattern that needs a new state for every character
 * would only lose time with more memory. Without enough memory, matching has the same result but no automaton.
 */
const AUTOMATON_BYTES_MAX = 32 * 1024;

/** Why a pattern cannot be used. */
export interface PatternRefusal {
  /** The end of a sentence that begins with the pattern. */
  readonly reason: string;
  readonly hint: string;
  readonly isTooLarge: boolean;
}

/** Features of other engines that RE2 lacks, by their text in the pattern. */
const UNKNOWN: readonly (readonly [fragment: RegExp, name: string, hint: string])[] = [
  [/^\(\?(?:=|!)/, 'look-ahead', 'write what may follow as a part of the pattern, or as a second pattern'],
  [/^\(\?<(?:=|!)/, 'look-behind', 'write what may come before as a part of the pattern'],
  [/^(?:\\[1-9k]|\(\?P)/, 'a back-reference', 'repeat the part itself'],
  [/^\(\?>/, 'an atomic group', 'write (?:…): matching takes linear time anyway'],
  [/^[*+?}]+\+$/, 'a possessive quantifier', 'leave the second "+" out: matching takes linear time anyway'],
  [/^\\u/, 'the escape \\u', 'write \\x{…} with the hexadecimal code point'],
  [/^\\c/, 'the escape \\c', 'write \\x and two hexadecimal digits'],
];

const UNNAMED_HINT = 'groups need no name here: write (?:…)';
const QUOTES_HINT = 'in single quotes YAML leaves backslashes as they are';

/** Returns why a pattern cannot be used: its syntax or its size; undefined if it can be used. */
export function patternRefusal(pattern: string): PatternRefusal | undefined {
  try {
    const compiled = RE2JS.compile(pattern);
    const [name] = Object.keys(compiled.namedGroups());
    if (name !== undefined) return malformed(`names the group "${name}"`, UNNAMED_HINT);
    return compiled.programSize() > PATTERN_SIZE_MAX ? tooLarge(compiled.programSize()) : undefined;
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return refusalOf(error);
  }
}

/**
 * Yields why patterns of a list cannot be used, by index; index null: valid patterns cannot be used together. Stops at
 * a pattern that is too large, because compiling such patterns takes long.
 */
export function* patternRefusals(
  patterns: readonly string[],
): Generator<readonly [index: number | null, refusal: PatternRefusal]> {
  let refused = 0;
  for (const [index, pattern] of patterns.entries()) {
    const refusal = patternRefusal(pattern);
    if (refusal === undefined) continue;
    refused++;
    yield [index, refusal];
    if (refusal.isTooLarge) return;
  }
  if (refused > 0 || patterns.length < 2) return;
  const size = RE2JS.compile(joined(patterns)).programSize();
  if (size > PATTERN_SIZE_MAX) yield [null, tooLarge(size)];
}

function malformed(reason: string, hint: string): PatternRefusal {
  return { reason, hint, isTooLarge: false };
}

function tooLarge(size: number): PatternRefusal {
  return {
    reason: `compiles to ${size} instructions, and at most ${PATTERN_SIZE_MAX} are run`,
    hint: 'repeat less often by {…}, or write fewer alternatives',
    isTooLarge: true,
  };
}

function refusalOf(error: RE2JSSyntaxException): PatternRefusal {
  const fragment = error.getPattern() ?? '';
  const unknown = UNKNOWN.find(([known]) => known.test(fragment));
  if (unknown === undefined) return malformed(`is not a regular expression: ${said(error, fragment)}`, QUOTES_HINT);
  const [, name, hint] = unknown;
  return malformed(`uses ${name}, which RE2 does not know`, hint);
}

function said(error: RE2JSSyntaxException, fragment: string): string {
  return fragment === '' ? error.getDescription() : `${error.getDescription()}: ${fragment}`;
}

/** Compiled patterns. */
export interface PatternList {
  /** Returns true if one of the patterns is found anywhere in the text. */
  isFoundIn(text: string): boolean;
}

/** Returns a matcher for any of these patterns, which must be usable together. */
export function compilePatterns(patterns: readonly string[]): PatternList {
  if (patterns.length === 0) return { isFoundIn: () => false };
  const automaton = new RE2Set(RE2Set.UNANCHORED, 0, AUTOMATON_BYTES_MAX);
  automaton.add(joined(patterns));
  automaton.compile();
  return { isFoundIn: (text) => automaton.match(text).length > 0 };
}

function joined(patterns: readonly string[]): string {
  return patterns.map((pattern) => `(?:${pattern})`).join('|');
}

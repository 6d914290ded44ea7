// Writes what others have named or written as Markdown in which it is text and nothing else: no markup, no HTML, no link,
// no mention of a person, no reference to an issue. Everything doubtful stands in a code span, where GitHub, GitLab and
// Gitea look for none of these. Values stand there as JSON, cut, and of two long ones only what differs.

import { countOf } from '../../base/wording.ts';
import { SECRET_VALUE } from '../../hiera/secrets.ts';
import type { Json } from '../../model/json.ts';
import { type Difference, isKnownAfter } from '../../plan/plan.ts';
import { missingIn, secretText } from './plan-headline.ts';

/** The length of a name in characters, beyond which it is cut. The names of servers and instances are rarely longer. */
const NAME_LENGTH_MAX = 120;
/** The length of a sentence in characters, beyond which it is cut. */
const SENTENCE_LENGTH_MAX = 400;
const ELLIPSIS = '…';

/** Control characters, marks that turn the direction of writing, characters without a glyph, halves of characters. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
/**
 * Runs of backticks that are escaped. A delimiter has to be longer than every run, and cmark-gfm and comrak, with which GitHub
 * and GitLab read, know none of more than 80: a text with such a run would be Markdown.
 */
const LONG_RUN = /`{11,}/g;
const HEX = 16;
const HEX_DIGITS = 4;
const BASIC_PLANE_MAX = 0xffff;

/**
 * Returns a text with its hidden characters and long runs of backticks escaped, cut with an ellipsis where it would be longer
 * than `lengthMax`.
 */
export function shown(text: string, lengthMax: number): string {
  let written = '';
  for (const character of text.replace(LONG_RUN, (run) => escaped('`').repeat(run.length))) {
    const next = HIDDEN.test(character) ? escaped(character) : character;
    if (written.length + next.length > lengthMax) return `${written}${ELLIPSIS}`;
    written += next;
  }
  return written;
}

function escaped(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  const digits = point.toString(HEX).padStart(HEX_DIGITS, '0');
  return point > BASIC_PLANE_MAX ? `\\u{${digits}}` : `\\u${digits}`;
}

/** Returns a text as a code span of one line. */
export function code(text: string, lengthMax: number = NAME_LENGTH_MAX): string {
  return writeSpan(shown(text, lengthMax));
}

/** The delimiter is longer than every run of backticks inside (CommonMark 0.31, section 6.1). */
function writeSpan(visible: string): string {
  if (visible === '') return '(empty)';
  const runs = visible.match(/`+/g) ?? [];
  const delimiter = '`'.repeat(1 + Math.max(0, ...runs.map((run) => run.length)));
  // One space at both ends is not shown: it keeps backticks apart, and spaces of the text from being taken for it.
  const isPadded = /^`|`$|^ .* $/.test(visible) && visible.trim() !== '';
  return isPadded ? `${delimiter} ${visible} ${delimiter}` : `${delimiter}${visible}${delimiter}`;
}

/** Words and small numbers. No words: what may be the id of a commit, and what has any other character. */
const PLAIN = /^(?![A-Fa-f]{7})(?:[A-Za-z]{1,40}(?:['-][A-Za-z]{1,40}){0,3}|\d{1,6})$/;

/**
 * Returns a sentence in which plain words stay as they are, and quotations and everything else stand in code spans.
 * It belongs behind other text of its line: as its beginning, a word and a full stop could be the item of a list.
 */
export function prose(sentence: string): string {
  const parts: string[] = [];
  let doubtful: string[] = [];
  const flush = (after: string): void => {
    if (doubtful.length > 0) parts.push(`${writeSpan(doubtful.join(' '))}${after}`);
    doubtful = [];
  };
  for (const token of shown(sentence, SENTENCE_LENGTH_MAX).match(/"[^"]*"\)?[.,;:?]?|\S+/g) ?? []) {
    const { before, word, after } = wordIn(token);
    if (PLAIN.test(word)) {
      flush('');
      parts.push(token);
    } else if (before !== '') {
      flush('');
      parts.push(`${before}${writeSpan(word)}${after}`);
    } else {
      doubtful.push(word);
      if (after !== '') flush(after);
    }
  }
  flush('');
  return parts.join(' ');
}

/** A token without the parentheses and the punctuation around it, which may stay outside code. */
function wordIn(token: string): { readonly before: string; readonly word: string; readonly after: string } {
  const [, before = '', word = '', after = ''] = /^(\(?)([^()]+?)(\)?[.,;:?]?)$/.exec(token) ?? [];
  return word === '' ? { before: '', word: token, after: '' } : { before, word, after };
}

/** The length of a value in characters, beyond which it is cut. */
const VALUE_LENGTH_MAX = 100;
/** Items of a list that are added or removed and named. */
const ITEMS_MAX = 6;
/** Characters that two long texts have in common and that are shown before the first difference. */
const CONTEXT_LENGTH = 12;

/** Returns a value as JSON in a code span, or what stands for one that is not known; `none` where there is none. */
export function valueText(value: Json | null): string {
  if (isKnownAfter(value)) return code(value);
  return value === null ? 'none' : code(JSON.stringify(value), VALUE_LENGTH_MAX);
}

/** Returns both values with an arrow between; of long lists the items, and of long texts the part, that differ; of secrets no value. */
export function differenceText({ from, to }: Difference): string {
  if (from === SECRET_VALUE || to === SECRET_VALUE) return secretText({ from, to });
  if (isLong(from) && isLong(to)) {
    if (Array.isArray(from) && Array.isArray(to)) return listDifference(from, to);
    return longDifference(JSON.stringify(from), JSON.stringify(to));
  }
  return `${valueText(from)} → ${valueText(to)}`;
}

function isLong(value: Json | null): boolean {
  return value !== null && JSON.stringify(value).length > VALUE_LENGTH_MAX;
}

function listDifference(from: readonly Json[], to: readonly Json[]): string {
  const parts = [
    ...itemsText('removes', missingIn(from, to)),
    ...itemsText('adds', missingIn(to, from)),
    `${countOf(from.length, 'item')} → ${to.length}`,
  ];
  if (parts.length === 1) return `another order of ${countOf(to.length, 'item')}`;
  return parts.join(', ');
}

function itemsText(verb: string, items: readonly Json[]): readonly string[] {
  if (items.length === 0) return [];
  const more = items.length > ITEMS_MAX ? ` and ${items.length - ITEMS_MAX} more` : '';
  return [`${verb} ${items.slice(0, ITEMS_MAX).map(valueText).join(', ')}${more}`];
}

function longDifference(from: string, to: string): string {
  let same = 0;
  while (same < from.length && from[same] === to[same]) same += 1;
  const start = Math.max(0, same - CONTEXT_LENGTH);
  const part = (text: string): string => code(`${start > 0 ? '…' : ''}${text.slice(start)}`, VALUE_LENGTH_MAX);
  return `${part(from)} → ${part(to)}`;
}

/** Returns a property with its difference. */
export function propertyText(name: string, difference: Difference): string {
  return `${code(name)}: ${differenceText(difference)}`;
}

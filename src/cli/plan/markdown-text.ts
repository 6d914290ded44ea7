// Writes names and texts of other people as Markdown in which they are only text: no markup, no HTML, no link, no mention
// of a user, no reference to an issue. Everything doubtful is in a code span, where GitHub, GitLab and Gitea look for none
// of these.
import { escapeCharacter } from '../../base/wording.ts';

/** The length of a name in characters, beyond which it is cut. The names of servers and instances are rarely longer. */
const NAME_LENGTH_MAX = 120;
/** The length of a sentence in characters, beyond which it is cut. */
const SENTENCE_LENGTH_MAX = 400;
const ELLIPSIS = '…';

/** Control characters, marks that turn the direction of writing, characters without a glyph, halves of characters. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
/**
 * Runs of backticks that are escaped. A delimiter has to be longer than every run, and cmark-gfm and comrak, with which
 * GitHub and GitLab read, know none of more than 80: a text with such a run would be Markdown.
 */
const LONG_RUN = /`{11,}/g;

/**
 * Returns a text with its hidden characters and long runs of backticks escaped, cut with an ellipsis where it would be
 * longer than `lengthMax`.
 */
function shown(text: string, lengthMax: number): string {
  let written = '';
  for (const character of text.replace(LONG_RUN, (run) => escaped(run))) {
    const next = HIDDEN.test(character) ? escaped(character) : character;
    if (written.length + next.length > lengthMax) return `${written}${ELLIPSIS}`;
    written += next;
  }
  return written;
}

function escaped(text: string): string {
  return text.split('').map(escapeCharacter).join('');
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

/** A quotation, or what is between blanks, without a parenthesis before it, and a parenthesis and a mark after it. */
const WORD = /(?<=^|[\s(])(?:"[^"]*"|[^\s(]\S*?)(?=\)?[.,;:?]?(?:\s|$))/g;

/**
 * Returns a sentence in which plain words stay as they are, and quotations and everything else are in code spans. It
 * belongs after other text of its line: as its beginning, a word and a full stop could be the item of a list.
 */
export function prose(sentence: string): string {
  const written = shown(sentence, SENTENCE_LENGTH_MAX).replaceAll(/\s+/g, ' ');
  return written.replaceAll(WORD, (word) => (PLAIN.test(word) ? word : writeSpan(word)));
}

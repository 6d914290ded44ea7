// Writes what others have named or written as Markdown in which it is text and nothing else: no markup, no HTML, no
// link, no mention of a person, no reference to an issue. Everything doubtful stands in a code span, where GitHub,
// GitLab and Gitea look for none of these.

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
const HEX = 16;
const HEX_DIGITS = 4;
const BASIC_PLANE_MAX = 0xffff;

/**
 * Returns a text with its hidden characters and long runs of backticks escaped, cut with an ellipsis where it would be
 * longer than `lengthMax`.
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

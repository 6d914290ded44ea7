// Writes scalars so that every YAML reader understands them alike, also readers of YAML 1.1, where `no` is false and
// `1:30` is a number. It quotes whatever could be misread.

/** A YAML value that is neither map nor list. */
export type Scalar = null | boolean | number | string;

/** The quotes of a text where it can have them; `double` is always possible. */
export type Quoting = 'plain' | 'single' | 'double';

interface BlockScalar {
  /** `|`, `>-` …: what stands behind the key. */
  readonly head: string;
  /** The lines below it, without indentation. */
  readonly lines: readonly string[];
}

/** Words that other readers take for null, a boolean, a merge key or a default. */
const WORDS = new Set(['', '~', 'null', 'true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', '<<', '=']);

/** Texts that other readers take for a number, a time or a date. */
const NUMBERS = [
  /^[-+]?(?:0b[01_]+|0o[0-7_]+|0x[\da-f_]+)$/i,
  /^[-+]?(?:\d[\d_,]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:e[-+]?\d+)?$/i,
  /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/,
  /^[-+]?\.(?:inf|nan)$/i,
  /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt\s].*)?$/,
];

/** A first character that means nothing; a dash means nothing before a letter. */
const PLAIN_START = /^(?:[^\s\-?:,[\]{}#&*!|>'"%@`]|-[A-Za-z])/;
const PLAIN_BREAK = /:(?:\s|$)|\s#|\s$/;
/** At the beginning of a line this ends the document, whatever follows. */
const DOCUMENT_END = /^\.\.\.(?:\s|$)/;
const FLOW_SIGN = /[,[\]{}]/;
/** Blanks other than the space, and what is not seen or has no meaning. */
const UNSEEN = /(?! )[\p{C}\p{Z}]/u;
/** Characters that JSON does not escape, and that YAML forbids or takes for a line end, or that mislead readers. */
const NOT_ESCAPED_BY_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g;

/** Returns a scalar, or a key, as it stands on one line, quoted as asked for where that fits. `isFlow`: it stands in brackets. */
export function scalarText(value: Scalar, quoting: Quoting = 'plain', isFlow = false): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (quoting === 'plain' && isPlain(value, isFlow)) return value;
  if (quoting === 'single' && !UNSEEN.test(value)) return singleQuoted(value);
  // Where escapes would be needed, single quotes are easier to read.
  if (quoting === 'plain' && /["\\]/.test(value) && !/'/.test(value) && !UNSEEN.test(value)) {
    return singleQuoted(value);
  }
  return doubleQuoted(value);
}

function isPlain(text: string, isFlow: boolean): boolean {
  if (WORDS.has(text.toLowerCase()) || NUMBERS.some((number) => number.test(text))) return false;
  if (!PLAIN_START.test(text) || PLAIN_BREAK.test(text) || UNSEEN.test(text)) return false;
  return !DOCUMENT_END.test(text) && !(isFlow && FLOW_SIGN.test(text));
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function doubleQuoted(text: string): string {
  return JSON.stringify(text).replaceAll(
    NOT_ESCAPED_BY_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Returns a text of several lines as a literal block, or undefined where quotes say it more clearly: blanks at the
 * beginning or the end of a line that would not be seen, characters that need an escape, more than one line end at the end.
 */
export function literalBlock(text: string): BlockScalar | undefined {
  const { lines, chomping } = linesOf(text);
  if (lines.some((line) => /\s$/.test(line) || UNSEEN.test(line))) return undefined;
  return /^\S/.test(text) && lines.at(-1) !== '' ? { head: `|${chomping}`, lines } : undefined;
}

/** Returns a text as a folded block with lines of about `width` characters, or undefined where it does not fit in one. */
export function foldedBlock(text: string, width: number): BlockScalar | undefined {
  const literal = literalBlock(text);
  if (literal === undefined || literal.lines.some((line) => /^\s/.test(line))) return undefined;
  // One line end folds into a space, so a text's own line end is written as two.
  const lines = literal.lines.flatMap((line, index) => {
    return index === 0 || line === '' ? wrap(line, width) : ['', ...wrap(line, width)];
  });
  return { head: literal.head.replace('|', '>'), lines };
}

function linesOf(text: string): { readonly lines: readonly string[]; readonly chomping: '' | '-' } {
  return text.endsWith('\n')
    ? { lines: text.slice(0, -1).split('\n'), chomping: '' }
    : { lines: text.split('\n'), chomping: '-' };
}

/** Breaks a line at single spaces: only these come back when it is folded. */
function wrap(line: string, width: number): readonly string[] {
  const lines: string[] = [];
  let last = '';
  for (const word of line.split(/(?<=\S) (?=\S)/)) {
    if (last !== '' && last.length + 1 + word.length > width) {
      lines.push(last);
      last = word;
    } else last = last === '' ? word : `${last} ${word}`;
  }
  return [...lines, last];
}

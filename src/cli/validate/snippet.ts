// Cuts the line of a problem out of its file, with a caret below the place: in columns of a terminal, as wide as its
// characters are. output.ts escapes colours and control characters first.
import type { Place } from '../../model/problem.ts';
import { visibleLine } from '../output.ts';

/** UTF-16 units that a shortened line shows before the caret, and in all. */
const BEFORE_UNITS = 60;
const UNITS_MAX = 110;
const CUT = '…';

/** The line of a problem as a terminal shows it. */
export interface Snippet {
  readonly line: string;
  /** The number of columns before the caret. */
  readonly caretAt: number;
}

/**
 * Returns the line of a place: tabs as four spaces, control characters escaped, and a long line shortened around the
 * place. Undefined where the text has no such line, or the line is blank.
 */
export function snippetAt(lines: readonly string[], { line, column }: Place): Snippet | undefined {
  const source = lines[line - 1];
  if (source === undefined || source.trim() === '') return undefined;
  const offset = Math.min(column - 1, source.length);
  const isShort = source.length <= UNITS_MAX;
  const from = isShort ? 0 : boundary(source, Math.max(0, offset - BEFORE_UNITS));
  const to = isShort ? source.length : boundary(source, Math.min(source.length, from + UNITS_MAX));
  const before = `${from > 0 ? CUT : ''}${shown(source.slice(from, offset))}`;
  const after = `${shown(source.slice(offset, to))}${to < source.length ? CUT : ''}`;
  return { line: `${before}${after}`, caretAt: widthOf(before) };
}

/** Returns the lines of a text. They end as in YAML: at LF, CR LF, or CR. A byte order mark is no part of the first. */
export function linesOf(text: string): readonly string[] {
  return text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
}

/** Returns an offset that is not between the halves of a surrogate pair. */
function boundary(text: string, offset: number): number {
  const unit = text.charCodeAt(offset);
  return offset > 0 && unit >= 0xdc00 && unit <= 0xdfff ? offset - 1 : offset;
}

function shown(text: string): string {
  return visibleLine(text.replaceAll('\t', '    '));
}

/** Ranges of East Asian characters, with those outside of the first plane. */
const EAST_ASIAN =
  '\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\ua960-\\ua97c\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60' +
  '\\uffe0-\\uffe6\\u{20000}-\\u{3fffd}';
const WIDE = new RegExp(`[${EAST_ASIAN}]|\\p{Emoji_Presentation}|\\ufe0f|\\p{Regional_Indicator}{2}`, 'u');
/** Marks without a character of their own, and characters that only join or separate others. */
const NO_WIDTH = /^[\p{M}\p{Cf}\u200b\ufeff]*$/u;

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Returns the columns that a text takes: none, one or two for each character that a reader sees. */
function widthOf(text: string): number {
  return Array.from(segmenter.segment(text), ({ segment }) => {
    if (NO_WIDTH.test(segment)) return 0;
    return WIDE.test(segment) ? 2 : 1;
  }).reduce<number>((sum, width) => sum + width, 0);
}

// Cuts the line of a problem out of its file, with a caret below the place: in columns of a terminal, as wide as its characters
// are. output.ts escapes colours and control characters first.
import type { Place } from '../../model/problem.ts';
import { visibleLine } from '../output.ts';

/** UTF-16 units on either side of the place that are looked at: a line may be a megabyte long. */
const NEAR_UNITS = 400;
/** Columns that a shortened line shows before the caret, and in all. */
const COLUMNS_BEFORE = 60;
const COLUMNS_MAX = 110;
const TAB = '    ';
const CUT = '…';

/** The line of a problem as a terminal shows it. */
export interface Snippet {
  readonly line: string;
  /** The number of columns before the caret. */
  readonly caretAt: number;
}

/** A grapheme as it is printed, and its columns. */
interface Cell {
  readonly text: string;
  readonly width: number;
}

/**
 * Returns the line of a place: tabs as four spaces, control characters escaped, and a long line shortened around the
 * place. Undefined where the text has no such line, or the line is blank.
 */
export function snippetAt(lines: readonly string[], { line, column }: Place): Snippet | undefined {
  const source = lines[line - 1];
  if (source === undefined || source.trim() === '') return undefined;
  const offset = Math.min(column - 1, source.length);
  const from = boundary(source, Math.max(0, offset - NEAR_UNITS));
  const to = boundary(source, Math.min(source.length, offset + NEAR_UNITS));
  const graphemes = graphemesOf(source.slice(from, to));
  const index = graphemes.findLastIndex((grapheme) => from + grapheme.offset <= offset);
  const isAtEnd = offset >= source.length;
  const cells = graphemes.map(({ text }) => cellOf(text));
  return shorten(cells, isAtEnd ? cells.length : Math.max(index, 0), { before: from > 0, after: to < source.length });
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

function cellOf(grapheme: string): Cell {
  if (grapheme === '\t') return { text: TAB, width: TAB.length };
  const text = visibleLine(grapheme);
  return { text, width: text === grapheme ? graphemeWidth(grapheme) : text.length };
}

interface Hidden {
  readonly before: boolean;
  readonly after: boolean;
}

/** Returns the cells around `caret`: all of them where they fit. */
function shorten(cells: readonly Cell[], caret: number, hidden: Hidden): Snippet {
  const isWhole = !hidden.before && !hidden.after && widthOf(cells) <= COLUMNS_MAX;
  if (isWhole) return { line: textOf(cells), caretAt: widthOf(cells.slice(0, caret)) };
  let first = caret;
  for (let width = 0; first > 0; first--) {
    width += cells[first - 1]?.width ?? 0;
    if (width > COLUMNS_BEFORE) break;
  }
  let end = caret;
  for (let width = widthOf(cells.slice(first, caret)); end < cells.length; end++) {
    width += cells[end]?.width ?? 0;
    if (width > COLUMNS_MAX) break;
  }
  const before = first > 0 || hidden.before ? CUT : '';
  const after = end < cells.length || hidden.after ? CUT : '';
  return {
    line: `${before}${textOf(cells.slice(first, end))}${after}`,
    caretAt: before.length + widthOf(cells.slice(first, caret)),
  };
}

function textOf(cells: readonly Cell[]): string {
  return cells.map(({ text }) => text).join('');
}

function widthOf(cells: readonly Cell[]): number {
  return cells.reduce((sum, { width }) => sum + width, 0);
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f|\p{Regional_Indicator}{2}/u;
/** Marks without a character of their own, and characters that only join or separate others. */
const NO_WIDTH = /^[\p{M}\p{Cf}\u200b\ufeff]*$/u;

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A character as a reader sees it, with the marks that belong to it. */
interface Grapheme {
  readonly text: string;
  /** In UTF-16 units, from the beginning of the text. */
  readonly offset: number;
}

/** Returns the graphemes of a text in order. */
function graphemesOf(text: string): readonly Grapheme[] {
  return Array.from(segmenter.segment(text), ({ segment, index }) => ({ text: segment, offset: index }));
}

/** Returns the columns that one grapheme takes: 0, 1 or 2. */
function graphemeWidth(text: string): number {
  if (NO_WIDTH.test(text)) return 0;
  return WIDE.test(text) ? 2 : 1;
}

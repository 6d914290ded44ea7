// Defines the layout of a YAML file: where its parts stand in the text, as offsets in UTF-16 units.
import { invariant } from '../model/invariant.ts';

/** How a scalar is written. */
export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal' | 'folded';

/** A scalar in the text. */
export interface ScalarNode {
  readonly kind: 'scalar';
  readonly style: ScalarStyle;
  readonly start: number;
  /** Not included. Of a block scalar the end of its last line that counts, before the line's own end. */
  readonly end: number;
}

/** A map or list in the text. */
export interface CollectionNode {
  readonly kind: 'map' | 'list';
  /** In brackets. */
  readonly isFlow: boolean;
  readonly start: number;
  /** Not included; the end of the last entry where there are no brackets. */
  readonly end: number;
  readonly entries: readonly LayoutEntry[];
}

/** A value in the text. */
export type LayoutNode = ScalarNode | CollectionNode;

/** A key with its value, or an item of a list. */
export interface LayoutEntry {
  /** Empty for an item. */
  readonly key: string;
  /** The offset of its key, of the dash of an item, or of an item in brackets. */
  readonly start: number;
  readonly end: number;
  /** Behind the colon or the dash, where its value may be put; null where there is no colon. */
  readonly slot: number | null;
  /** Null where the value is left empty. */
  readonly node: LayoutNode | null;
}

/** Returns the entry of an index that is known to be there. */
export function layoutEntryAt({ entries }: CollectionNode, index: number): LayoutEntry {
  const entry = entries[index];
  invariant(entry !== undefined, 'edits ask for entries of the file only');
  return entry;
}

/** Returns where the line that holds `offset` begins. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

/** Returns where the line after the one that holds `offset` begins; `text` ends with a line end. */
export function lineAfter(text: string, offset: number): number {
  return text.indexOf('\n', offset) + 1;
}

/** Returns where the line that holds `offset` ends, before its line end. */
export function lineEnd(text: string, offset: number): number {
  const end = lineAfter(text, offset) - 1;
  return text.charAt(end - 1) === '\r' ? end - 1 : end;
}

/** Returns how many characters stand on its line before `offset`. */
export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

/** Returns what stands on its line before `offset`. */
export function prefixAt(text: string, offset: number): string {
  return text.slice(lineStart(text, offset), offset);
}

/** Tells that nothing but spaces stands before `offset` on its line. */
export function isFirstOnLine(text: string, offset: number): boolean {
  return /^ *$/.test(prefixAt(text, offset));
}

/**
 * Returns where the comment lines directly above `offset` begin that belong to it: those that begin in the same column,
 * not before `floor`. Without any, the beginning of the line itself.
 */
export function commentsAbove(text: string, offset: number, floor: number): number {
  const indent = prefixAt(text, offset);
  let start = lineStart(text, offset);
  while (start > floor) {
    const above = lineStart(text, start - 1);
    if (above < floor || !text.startsWith(`${indent}#`, above)) break;
    start = above;
  }
  return start;
}

/**
 * Returns where the lines of an entry end that has lines of its own: with the comments below it that are indented
 * further than it is, and so speak of what is inside.
 */
export function linesEnd(text: string, { start, end }: Pick<LayoutEntry, 'start' | 'end'>): number {
  const column = columnOf(text, start);
  let last = lineAfter(text, end);
  for (let at = last, next = at; at < text.length; at = next) {
    next = lineAfter(text, at);
    const line = text.slice(at, next);
    const isComment = line.trimStart().startsWith('#') && line.search(/\S/) > column;
    if (isComment) last = next;
    else if (line.trim() !== '') break;
  }
  return last;
}

/** Returns the number of the line that holds `offset`, from 1. */
export function lineNumber(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

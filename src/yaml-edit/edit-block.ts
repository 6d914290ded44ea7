// Adds and removes entries of a map or list in block style, where every entry has lines of its own.
import {
  type EntryChanges,
  insertLines,
  insertText,
  type NewEntry,
  refuse,
  replaceText,
  type TextEdit,
} from './text-edit.ts';
import { quotingOf, writeLike } from './write-like.ts';
import { scalarText } from './write-scalar.ts';
import {
  type CollectionNode,
  columnOf,
  commentsAbove,
  isFirstOnLine,
  layoutEntryAt,
  lineAfter,
  lineEnd,
  lineStart,
  linesEnd,
  prefixAt,
} from './yaml-layout.ts';

/** A block collection, and what stands before it. */
interface BlockSite {
  readonly node: CollectionNode;
  /** Behind the colon or dash that it belongs to; null at the root. */
  readonly slot: number | null;
}

const QUESTION_MARK = 'a key is written with "?", or in another way that cannot be edited line by line';

/**
 * Notes how entries go and come. One that goes takes its trailing comment along, the comment lines directly above it that
 * begin in its column, and those below it that are indented further; not the comments at the top of a file, which speak
 * of all of it.
 */
export function changeBlock(edit: TextEdit, site: BlockSite, { removed, added }: EntryChanges): void {
  const isBehindDash = removed.has(0) && !isFirstOnLine(edit.text, site.node.start);
  const done = isBehindDash ? removeFirst(edit, site, removed) : 0;
  for (const index of removed) if (index >= done) removeLines(edit, site, index);
  for (const entry of added) addEntry(edit, site, entry);
}

/** Notes how a block collection loses all its entries and becomes `{}` or `[]`; comments between them stay. */
export function emptyBlock(edit: TextEdit, site: BlockSite): void {
  const { node, slot } = site;
  const brackets = node.kind === 'map' ? '{}' : '[]';
  const isBelow = slot !== null && isFirstOnLine(edit.text, node.start);
  if (isBelow) insertText(edit, slot, ` ${brackets}`);
  for (const [index, entry] of node.entries.entries()) {
    if (index > 0 || isBelow) removeLines(edit, site, index);
    else replaceText(edit, { start: entry.start, end: lineEnd(edit.text, linesEnd(edit.text, entry) - 1) }, brackets);
  }
}

function removeLines(edit: TextEdit, site: BlockSite, index: number): void {
  const entry = layoutEntryAt(site.node, index);
  if (!isFirstOnLine(edit.text, entry.start)) refuse(edit, entry.start, QUESTION_MARK);
  replaceText(edit, { start: linesStart(edit, site, index), end: linesEnd(edit.text, entry) }, '');
}

/** Returns where the lines of an entry begin, with the comments above that go with it. */
function linesStart({ text }: TextEdit, { node, slot }: BlockSite, index: number): number {
  const { start } = layoutEntryAt(node, index);
  if (index > 0) return commentsAbove(text, start, lineAfter(text, layoutEntryAt(node, index - 1).end));
  if (slot !== null) return commentsAbove(text, start, lineAfter(text, slot));
  const comments = commentsAbove(text, start, 0);
  const isBelowBlankLine = comments > 0 && text.slice(lineStart(text, comments - 1), comments).trim() === '';
  return isBelowBlankLine ? comments : lineStart(text, start);
}

/**
 * Removes the first entry where it stands behind a dash. The next that stays moves up to the dash, unless there are blank
 * lines or comments to be kept in between; then the dash stays alone. Returns how many entries have been removed.
 */
function removeFirst(edit: TextEdit, site: BlockSite, removed: ReadonlySet<number>): number {
  const { text } = edit;
  const { node } = site;
  const { start } = node;
  const prefix = prefixAt(text, start);
  if (!/^ *(?:- +)+$/.test(prefix)) refuse(edit, start, QUESTION_MARK);
  const count = node.entries.findIndex((_, index) => !removed.has(index));
  const next = layoutEntryAt(node, count).start;
  const isTight = node.entries.slice(0, count).every((entry, index) => {
    const end = index + 1 === count ? next : linesStart(edit, site, index + 1);
    return /^ *$/.test(text.slice(linesEnd(text, entry), end));
  });
  if (isTight) {
    replaceText(edit, { start, end: next }, '');
    return count;
  }
  const blanks = prefix.length - prefix.trimEnd().length;
  replaceText(edit, { start: start - blanks, end: lineEnd(text, linesEnd(text, layoutEntryAt(node, 0)) - 1) }, '');
  return 1;
}

function addEntry(edit: TextEdit, site: BlockSite, entry: NewEntry): void {
  const { text, eol } = edit;
  const { node } = site;
  if (!/^[ -]*$/.test(prefixAt(text, node.start))) refuse(edit, node.start, QUESTION_MARK);
  const lines = entryLines(edit, node, entry);
  if (entry.after !== -1) insertLines(edit, linesEnd(text, layoutEntryAt(node, entry.after)), lines);
  else if (isFirstOnLine(text, node.start)) insertLines(edit, linesStart(edit, site, 0), lines);
  else insertText(edit, node.start, [...lines, ''].join(eol).trimStart() + ' '.repeat(columnOf(text, node.start)));
}

/** Returns the lines of a new entry. It is written like the last one of the collection, as far as that says how. */
function entryLines({ text, indents }: TextEdit, node: CollectionNode, { key, value }: NewEntry): readonly string[] {
  const column = columnOf(text, node.start);
  const model = layoutEntryAt(node, node.entries.length - 1).node;
  // The items of a list are alike, the values of a map are not: one that is quoted says nothing about the next.
  const isModel = model?.kind !== 'scalar' || (node.kind === 'list' && quotingOf(model) !== 'plain');
  const { head, body } = writeLike(value, isModel ? model : null, { text, parent: node.kind, column, indents });
  const sign = key === null ? '-' : `${scalarText(key)}:`;
  return [`${' '.repeat(column)}${sign}${head === '' ? '' : ` ${head}`}`, ...body];
}

// Adds and removes entries of a map or list in brackets: on one line, or with every entry on lines of its own.
import { type EntryChanges, insertText, type NewEntry, refuse, replaceText, type TextEdit } from './text-edit.ts';
import { flowStyleOf, quotingOf } from './write-like.ts';
import { scalarText } from './write-scalar.ts';
import { flowPair, flowText } from './write-yaml.ts';
import {
  type CollectionNode,
  commentsAbove,
  isFirstOnLine,
  type LayoutEntry,
  layoutEntryAt,
  lineAfter,
  lineEnd,
  prefixAt,
} from './yaml-layout.ts';

const COMMENT_BETWEEN = 'a comment stands between the values in the brackets, and it is not clear what it belongs to';

/** Notes how entries go and come. Where each has lines of its own it takes its comments along, as in block style. */
export function changeFlow(edit: TextEdit, node: CollectionNode, changes: EntryChanges): void {
  if (!/[[{]/.test(edit.text.charAt(node.start))) refuse(edit, node.start, 'a map in a list has no braces');
  else if (node.entries.every((entry) => hasOwnLines(edit.text, entry))) changeLines(edit, node, changes);
  else changeInline(edit, node, changes);
}

/** Notes how a collection in brackets loses all its entries; comments between them stay where that is possible. */
export function emptyFlow(edit: TextEdit, node: CollectionNode): void {
  const { text } = edit;
  const { start, end, entries, kind } = node;
  const gaps = [start, ...entries.map((entry) => entry.end)].map((from, index) =>
    text.slice(from, entries[index]?.start ?? end),
  );
  if (!gaps.some((gap) => gap.includes('#'))) replaceText(edit, node, kind === 'map' ? '{}' : '[]');
  else if (!entries.every((entry) => hasOwnLines(text, entry))) refuse(edit, start, COMMENT_BETWEEN);
  else for (const index of entries.keys()) removeLines(edit, node, index);
}

function changeInline(edit: TextEdit, node: CollectionNode, { removed, added }: EntryChanges): void {
  const { text } = edit;
  const last = lastKept(node, removed);
  for (const index of removed) {
    const { start, end } = layoutEntryAt(node, index);
    // The comma that goes is the one behind, but for the last ones: there the one before.
    const [from, to] =
      index < last ? [start, layoutEntryAt(node, index + 1).start] : [layoutEntryAt(node, index - 1).end, end];
    const gap = text.slice(from, start) + text.slice(end, to);
    if (gap.includes('#')) refuse(edit, start, COMMENT_BETWEEN);
    replaceText(edit, { start: from, end: to }, '');
  }
  for (const entry of added) {
    const written = entryText(text, node, entry);
    const isFirst = entry.after === -1;
    const at = isFirst ? layoutEntryAt(node, 0).start : layoutEntryAt(node, entry.after).end;
    insertText(edit, at, isFirst ? `${written}, ` : `, ${written}`);
  }
}

function changeLines(edit: TextEdit, node: CollectionNode, { removed, added }: EntryChanges): void {
  const { text, eol } = edit;
  const last = lastKept(node, removed);
  const indent = prefixAt(text, layoutEntryAt(node, 0).start);
  for (const index of removed) removeLines(edit, node, index);
  for (const entry of added) {
    const at = entry.after === -1 ? linesStart(text, node, 0) : linesAfter(text, layoutEntryAt(node, entry.after));
    const isLast = entry === added.at(-1) && entry.after === last;
    const comma = isLast && !endsWithComma(text, node) ? '' : ',';
    insertText(edit, at, `${indent}${entryText(text, node, entry)}${comma}${eol}`);
  }
  mendComma(edit, node, { last, isFollowed: added.some(({ after }) => after === last) });
}

function removeLines(edit: TextEdit, node: CollectionNode, index: number): void {
  const start = linesStart(edit.text, node, index);
  replaceText(edit, { start, end: linesAfter(edit.text, layoutEntryAt(node, index)) }, '');
}

/** Gives the last entry that stays a comma if it needs one now, and takes it if the last had none before. */
function mendComma(
  edit: TextEdit,
  node: CollectionNode,
  { last, isFollowed }: { readonly last: number; readonly isFollowed: boolean },
): void {
  const entry = layoutEntryAt(node, last);
  const comma = commaBehind(edit.text, entry);
  if (isFollowed && comma === null) insertText(edit, entry.end, ',');
  if (!isFollowed && comma !== null && !endsWithComma(edit.text, node))
    replaceText(edit, { start: comma, end: comma + 1 }, '');
}

function lastKept({ entries }: CollectionNode, removed: ReadonlySet<number>): number {
  return entries.findLastIndex((_, index) => !removed.has(index));
}

function entryText(text: string, node: CollectionNode, { key, value }: NewEntry): string {
  const style = flowStyleOf(text, node);
  if (key !== null) return flowPair(key, value, style);
  const quoting = quotingOf(lastOf(node).node);
  return typeof value === 'string' ? scalarText(value, quoting, true) : flowText(value, style);
}

/** Returns where the lines of an entry begin, with the comments above that go with it. */
function linesStart(text: string, node: CollectionNode, index: number): number {
  const floor = index === 0 ? lineAfter(text, node.start) : linesAfter(text, layoutEntryAt(node, index - 1));
  return commentsAbove(text, layoutEntryAt(node, index).start, floor);
}

function linesAfter(text: string, entry: LayoutEntry): number {
  return lineAfter(text, tailOf(text, entry));
}

function hasOwnLines(text: string, entry: LayoutEntry): boolean {
  const tail = tailOf(text, entry);
  return isFirstOnLine(text, entry.start) && /^[ \t]*(?:#.*)?$/.test(text.slice(tail, lineEnd(text, tail)));
}

/** Returns where an entry ends with its comma. */
function tailOf(text: string, entry: LayoutEntry): number {
  const comma = commaBehind(text, entry);
  return comma === null ? entry.end : comma + 1;
}

function endsWithComma(text: string, node: CollectionNode): boolean {
  return commaBehind(text, lastOf(node)) !== null;
}

function lastOf(node: CollectionNode): LayoutEntry {
  return layoutEntryAt(node, node.entries.length - 1);
}

/** Returns where the comma behind an entry stands, or null. */
function commaBehind(text: string, { end }: LayoutEntry): number | null {
  // Without the comma itself: looking for it the pattern would look into comments, too.
  const between = /\s*(?:#.*\s*)*/y;
  between.lastIndex = end;
  between.test(text);
  return text.charAt(between.lastIndex) === ',' ? between.lastIndex : null;
}

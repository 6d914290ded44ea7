// Replaces one value by another. The text of the old value is removed with the comments inside it; everything else
// stays.
import type { Json } from '../model/json.ts';
import { type EntrySite, insertLines, insertText, refuse, replaceText, type TextEdit } from './text-edit.ts';
import { flowStyleOf, quotingOf, type ValuePlace, writeLike } from './write-like.ts';
import { scalarText } from './write-scalar.ts';
import { flowText, isScalar } from './write-yaml.ts';
import {
  type CollectionNode,
  columnOf,
  commentsAbove,
  isFirstOnLine,
  type LayoutNode,
  lineAfter,
  lineEnd,
  linesEnd,
} from './yaml-layout.ts';

interface Replacement extends EntrySite {
  readonly value: Json;
}

/** Notes how the value at `site` becomes `value`. */
export function replaceValue(edit: TextEdit, { parent, entry }: EntrySite, value: Json): void {
  const { node, slot } = entry;
  const replacement = { parent, entry, value };
  if (parent?.isFlow === true) replaceInBrackets(edit, parent, replacement);
  else if (node === null) fillEmpty(edit, replacement);
  else if (node.kind === 'scalar' || node.isFlow) replaceInline(edit, node, replacement);
  else if (slot === null || !isFirstOnLine(edit.text, node.start)) replaceCompact(edit, node, replacement);
  else replaceBelow(edit, slot, replacement);
}

function replaceInBrackets(edit: TextEdit, parent: CollectionNode, { entry, value }: Replacement): void {
  const { node, slot, end } = entry;
  const style = flowStyleOf(edit.text, node?.kind === 'map' && node.entries.length > 0 ? node : parent);
  // In a file of JSON a text that takes the place of a number has quotes, too.
  const isBare = node === null || /^(?:null|true|false|-?\d)/.test(edit.text.slice(node.start, node.end));
  const quoting = style.isQuoted && isBare ? 'double' : quotingOf(node);
  const text = isScalar(value) ? scalarText(value, quoting, true) : flowText(value, style);
  if (node !== null) replaceText(edit, node, text);
  else if (slot !== null) insertText(edit, slot, ` ${text}`);
  else insertText(edit, end, `: ${text}`);
}

function fillEmpty(edit: TextEdit, { parent, entry, value }: Replacement): void {
  const { slot } = entry;
  if (slot === null) {
    refuse(edit, entry.start, 'there is no colon behind the key');
    return;
  }
  const { head, body } = writeLike(value, null, spotBeside(edit, { parent, entry }));
  insertText(edit, slot, head === '' ? '' : ` ${head}`);
  insertLines(edit, lineAfter(edit.text, slot), body);
}

/** Replaces what begins on the line of its key, or on a line of its own below it. */
function replaceInline(edit: TextEdit, node: LayoutNode, { parent, entry, value }: Replacement): void {
  const { text } = edit;
  const slot = entry.slot ?? node.start;
  const isBesideKey = parent?.kind === 'map' && !text.slice(slot, node.start).includes('\n');
  const spot = isBesideKey ? spotBeside(edit, { parent, entry }) : spotAt(edit, node);
  const { head, body } = writeLike(value, node, spot);
  const comment = node.kind === 'scalar' ? headerComment(text.slice(node.start, node.end)) : '';
  replaceText(edit, { start: head === '' ? slot : node.start, end: node.end }, head + comment);
  insertLines(edit, lineAfter(text, node.end), body);
}

/** Replaces a block collection at the root, or one that begins behind a dash. */
function replaceCompact(edit: TextEdit, node: CollectionNode, { entry, value }: Replacement): void {
  const { head, body } = writeLike(value, null, spotAt(edit, node));
  const end = lineEnd(edit.text, linesEnd(edit.text, entry) - 1);
  replaceText(edit, { start: node.start, end }, [head, ...body].join(edit.eol));
}

/** Replaces a block collection that begins on a line of its own below its key or dash. */
function replaceBelow(edit: TextEdit, slot: number, { parent, entry, value }: Replacement): void {
  const { text } = edit;
  const { head, body } = writeLike(value, null, spotBeside(edit, { parent, entry }));
  insertText(edit, slot, head === '' ? '' : ` ${head}`);
  // Comments at the top of a map or list speak of it as a whole, and stay if there is one again.
  const first = entry.node?.start ?? slot;
  const start = head === '' ? commentsAbove(text, first, lineAfter(text, slot)) : lineAfter(text, slot);
  insertLines(edit, start, body);
  replaceText(edit, { start, end: linesEnd(text, entry) }, '');
}

/** Returns the spot of a value beside its key or dash. */
function spotBeside({ text, indents }: TextEdit, { parent, entry }: EntrySite): ValuePlace {
  return { text, parent: parent?.kind ?? 'list', column: columnOf(text, entry.start), indents };
}

/** Returns the spot of a value that begins where `node` does, as if a dash stood before it. */
function spotAt({ text, indents }: TextEdit, { start }: LayoutNode): ValuePlace {
  return { text, parent: 'list', column: columnOf(text, start) - 2, indents };
}

/** Returns the comment behind the sign of a block scalar, with the blanks before it. */
function headerComment(written: string): string {
  return /^[|>][-+\d]*([ \t]+#.*)/.exec(written)?.[1] ?? '';
}

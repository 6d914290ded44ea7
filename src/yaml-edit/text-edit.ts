// Collects the replacements of one edit of a YAML text, and the reasons why it is impossible.
import { invariant } from '../base/invariant.ts';
import type { Json } from '../model/json.ts';
import type { Indents } from './write-yaml.ts';
import { type CollectionNode, type LayoutEntry, lineNumber } from './yaml-layout.ts';

/** A part of a text that is replaced by another text. */
export interface Splice {
  readonly start: number;
  /** Not included; the same as `start` where something is only put in. */
  readonly end: number;
  readonly text: string;
}

/** The text, and the replacements noted so far. */
export interface TextEdit {
  /** Ends with a line end. */
  readonly text: string;
  /** The file's line end. */
  readonly eol: string;
  readonly indents: Indents;
  readonly splices: Splice[];
  /** The reasons why the text cannot be edited; empty while it can. */
  readonly refusals: string[];
}

/** The place of a value: the root, which has no parent, or an entry of a collection. */
export interface EntrySite {
  readonly parent: CollectionNode | null;
  readonly entry: LayoutEntry;
}

/** Something new in a map or a list. */
export interface NewEntry {
  /** The entry that it follows, by index; -1: it comes first. Never one that is removed. */
  readonly after: number;
  /** Null for an item of a list. */
  readonly key: string | null;
  readonly value: Json;
}

/** The changes to the entries of a collection; at least one entry stays. */
export interface EntryChanges {
  readonly removed: ReadonlySet<number>;
  /** In the order in which they are to stand. */
  readonly added: readonly NewEntry[];
}

/** Notes that `text` is to stand where something else stands now. */
export function replaceText(edit: TextEdit, { start, end }: Omit<Splice, 'text'>, text: string): void {
  edit.splices.push({ start, end, text });
}

/** Notes that `text` is to be put in at `offset`. */
export function insertText(edit: TextEdit, offset: number, text: string): void {
  edit.splices.push({ start: offset, end: offset, text });
}

/** Notes that whole lines are to be put in at `offset`, where a line begins. */
export function insertLines(edit: TextEdit, offset: number, lines: readonly string[]): void {
  insertText(edit, offset, lines.map((line) => `${line}${edit.eol}`).join(''));
}

/** Notes that the text cannot be edited because of what stands at `offset`. */
export function refuse(edit: TextEdit, offset: number, why: string): void {
  edit.refusals.push(`line ${lineNumber(edit.text, offset)}: ${why}`);
}

/**
 * Returns the text with all splices done; no two may overlap. What is put in at the same place keeps the order of the
 * list, and stands before whatever is replaced from there on.
 */
export function applySplices(text: string, splices: readonly Splice[]): string {
  const parts: string[] = [];
  let done = 0;
  for (const splice of splices.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    invariant(splice.start >= done, 'splices do not overlap');
    parts.push(text.slice(done, splice.start), splice.text);
    done = splice.end;
  }
  return parts.join('') + text.slice(done);
}

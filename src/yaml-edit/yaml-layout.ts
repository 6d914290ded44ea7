// The layout of a YAML file: where its parts stand in the text, as offsets in UTF-16 units. The parser `yaml` finds them; what
// a scalar means is for the reader of the file to say.
import { type Pair, type ParsedNode, parseDocument, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { invariant } from '../base/invariant.ts';

/** How a scalar is written. */
type ScalarStyle = 'plain' | 'single' | 'double' | 'literal' | 'folded';

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

/** Returns where the parts of a text stand; null where it holds no value, and a reason where it cannot be parsed. */
export function readLayout(text: string): LayoutNode | string | null {
  const document = parseDocument(text, {
    keepSourceTokens: true,
    // All scalars as texts: what they mean is for the reader of the file to say.
    schema: 'failsafe',
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const [error] = document.errors;
  if (error !== undefined) return `line ${lineNumber(text, error.pos[0])}: ${error.message}`;
  return layOut(text, document.contents);
}

const STYLES: Readonly<Record<Scalar.Type, ScalarStyle>> = {
  PLAIN: 'plain',
  QUOTE_SINGLE: 'single',
  QUOTE_DOUBLE: 'double',
  BLOCK_LITERAL: 'literal',
  BLOCK_FOLDED: 'folded',
};

/** Returns null for a value that is left empty. */
function layOut(text: string, node: ParsedNode | null): LayoutNode | null {
  if (node === null) return null;
  if (node instanceof YAMLMap) return mapLayout(text, node);
  if (node instanceof YAMLSeq) return listLayout(text, node);
  const [start, end] = node.range;
  if (start === end) return null;
  const style = node instanceof Scalar ? STYLES[node.type ?? 'PLAIN'] : 'plain';
  return {
    kind: 'scalar',
    style,
    start,
    end: style === 'literal' || style === 'folded' ? blockEnd(text, start, end) : end,
  };
}

/** Returns where the last line of a block scalar ends that says something: with `+` its empty lines do, too. */
function blockEnd(text: string, start: number, end: number): number {
  const keepsEmptyLines = /^.\d?\+/.test(text.slice(start, start + 3));
  let last = end;
  do {
    if (text.charAt(last - 1) === '\n') last--;
    if (text.charAt(last - 1) === '\r') last--;
  } while (!keepsEmptyLines && text.charAt(last - 1) === '\n');
  return last;
}

function mapLayout(text: string, node: YAMLMap.Parsed): CollectionNode {
  return collection(
    'map',
    node,
    node.items.map((pair) => pairLayout(text, pair)),
  );
}

function pairLayout(text: string, { key, value, srcToken }: Pair<ParsedNode, ParsedNode | null>): LayoutEntry {
  const node = layOut(text, value);
  const colon = srcToken?.sep?.find(({ type }) => type === 'map-value-ind');
  const slot = colon === undefined ? null : colon.offset + 1;
  const [start, keyEnd] = key.range;
  return { key: key instanceof Scalar ? String(key.value) : '', start, end: node?.end ?? slot ?? keyEnd, slot, node };
}

function listLayout(text: string, node: YAMLSeq.Parsed): CollectionNode {
  const dashes = dashesOf(node);
  const entries = node.items.map((item, index): LayoutEntry => {
    const below = layOut(text, item);
    const [start, end] = item.range;
    const dash = dashes[index];
    const slot = dash === undefined ? null : dash + 1;
    return { key: '', start: dash ?? start, end: below?.end ?? slot ?? end, slot, node: below };
  });
  return collection('list', node, entries);
}

function dashesOf({ srcToken }: YAMLSeq.Parsed): readonly number[] {
  if (srcToken?.type !== 'block-seq') return [];
  return srcToken.items.flatMap(({ start }) => start.find(({ type }) => type === 'seq-item-ind')?.offset ?? []);
}

function collection(
  kind: 'map' | 'list',
  { range, flow }: YAMLMap.Parsed | YAMLSeq.Parsed,
  entries: readonly LayoutEntry[],
): CollectionNode {
  const isFlow = flow === true;
  const [start, end] = range;
  return { kind, isFlow, start, end: isFlow ? end : (entries.at(-1)?.end ?? end), entries };
}

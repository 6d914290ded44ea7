// Finds where the values of a YAML text stand, with the parser `yaml`. It does not interpret scalars.
import { type Pair, type ParsedNode, parseDocument, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { type CollectionNode, type LayoutEntry, type LayoutNode, lineNumber, type ScalarStyle } from './yaml-layout.ts';

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
  return layoutOf(text, document.contents);
}

const STYLES: Readonly<Record<Scalar.Type, ScalarStyle>> = {
  PLAIN: 'plain',
  QUOTE_SINGLE: 'single',
  QUOTE_DOUBLE: 'double',
  BLOCK_LITERAL: 'literal',
  BLOCK_FOLDED: 'folded',
};

/** Returns null for a value that is left empty. */
function layoutOf(text: string, node: ParsedNode | null): LayoutNode | null {
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
  const node = layoutOf(text, value);
  const colon = srcToken?.sep?.find(({ type }) => type === 'map-value-ind');
  const slot = colon === undefined ? null : colon.offset + 1;
  const [start, keyEnd] = key.range;
  return { key: key instanceof Scalar ? String(key.value) : '', start, end: node?.end ?? slot ?? keyEnd, slot, node };
}

function listLayout(text: string, node: YAMLSeq.Parsed): CollectionNode {
  const dashes = dashesOf(node);
  const entries = node.items.map((item, index): LayoutEntry => {
    const below = layoutOf(text, item);
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

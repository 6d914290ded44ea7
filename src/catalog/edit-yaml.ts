// Changes a YAML file in place: only what has to differ differs, everything else stays byte for byte. Finds the places with
// the parser `yaml`, never writes with it, and believes a result only when parseYaml reads from it what was wanted.
import { type Pair, type ParsedNode, parseDocument, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { isMap, isSame, type Json, type JsonMap } from '../model/json.ts';
import { isError } from '../model/problem.ts';
import { changeValue } from './edit-entries.ts';
import { indentsOf } from './indents.ts';
import { applySplices } from './splices.ts';
import type { TextEdit } from './text-edit.ts';
import { parseYaml, type YamlDocument } from './yaml.ts';
import { type CollectionNode, type LayoutEntry, type LayoutNode, lineNumber, type ScalarStyle } from './yaml-layout.ts';

/** `reason` is for the person who has to edit the file by hand. */
export type Edited = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

const BYTE_ORDER_MARK = '\uFEFF';

/** Deeper values are not even looked at: no file can hold them. */
const DEPTH_MAX = 64;

const MISFIT = 'the way the file is written, other values in it would change, too';

/**
 * Returns the text of a file changed so that it reads as `wanted`. Lines of keys and items that stay the same are not
 * touched: comments, blank lines, quotes, order, indentation, line ends, a byte order mark, a missing last line end.
 *
 * A new key comes last in its map, indented like it; items of a list are matched and changed one by one. What goes takes
 * its trailing comment along, the comment lines directly above it that begin in the same column (not those at the top of
 * the file), and those below it that are indented further. A changed text keeps its quotes where they still fit.
 * Collections in brackets stay in brackets; empty ones become blocks when they are filled. Where all that is not possible,
 * the answer says why a person has to edit the file.
 */
export function editYaml(text: string, wanted: JsonMap): Edited {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const content = text.slice(mark.length);
  const before = parseYaml('', content);
  const fault = faultOf(before);
  if (fault !== undefined) return { ok: false, reason: `the file has a mistake already: ${fault}` };
  if (!isMap(before.value)) return { ok: false, reason: 'the file holds no map of keys and values' };
  if (isSame(before.value, wanted)) return { ok: true, text };
  const refusal = unusual(content) ?? tooDeep(wanted);
  if (refusal !== undefined) return { ok: false, reason: refusal };
  const edited = editContent(content, before.value, wanted);
  return edited.ok ? proven(mark, edited.text, wanted) : edited;
}

/** Returns the result if it reads as it should. */
function proven(mark: string, content: string, wanted: JsonMap): Edited {
  const after = parseYaml('', content);
  const fault = faultOf(after);
  if (fault !== undefined) return { ok: false, reason: `${MISFIT}: ${fault}` };
  return isSame(after.value, wanted) ? { ok: true, text: mark + content } : { ok: false, reason: MISFIT };
}

function faultOf({ problems }: YamlDocument): string | undefined {
  const first = problems.find(isError);
  return first === undefined ? undefined : `line ${first.line}: ${first.message}`;
}

function unusual(content: string): string | undefined {
  const at = content.search(/\r(?!\n)/);
  return at === -1 ? undefined : `line ${lineNumber(content, at)}: a carriage return stands without a line feed`;
}

function tooDeep(value: Json, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === DEPTH_MAX) return `a file holds no more than ${DEPTH_MAX} maps and lists inside one another`;
  return Object.values(value)
    .map((below) => tooDeep(below, depth + 1))
    .find((found) => found !== undefined);
}

function editContent(content: string, old: JsonMap, wanted: JsonMap): Edited {
  const eol = /\r?\n/.exec(content)?.[0] ?? '\n';
  const isOpen = !content.endsWith('\n');
  const text = isOpen ? content + eol : content;
  const layout = readLayout(text);
  if (typeof layout === 'string') return { ok: false, reason: layout };
  const edit: TextEdit = { text, eol, indents: indentsOf(text, layout), splices: [], refusals: [] };
  const { start, end } = layout;
  changeValue(edit, { parent: null, entry: { key: '', start, end, slot: null, node: layout } }, { old, wanted });
  const [refusal] = edit.refusals;
  if (refusal !== undefined) return { ok: false, reason: refusal };
  const edited = applySplices(text, edit.splices);
  return { ok: true, text: isOpen ? edited.slice(0, -eol.length) : edited };
}

/** Returns where everything stands, or why that cannot be said. */
function readLayout(text: string): LayoutNode | string {
  const document = parseDocument(text, {
    keepSourceTokens: true,
    // All scalars as texts: what they mean is for parseYaml to say.
    schema: 'failsafe',
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const [error] = document.errors;
  if (error !== undefined) return `line ${lineNumber(text, error.pos[0])}: ${error.message}`;
  return layoutOf(text, document.contents) ?? MISFIT;
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

// Writes a value in the style of the value that it replaces, or of its neighbour.
import type { Json } from '../model/json.ts';
import { foldedBlock, literalBlock, type Quoting, type Scalar, scalarText } from './write-scalar.ts';
import {
  type FlowStyle,
  flowText,
  type Indents,
  indented,
  isScalar,
  USUAL_FLOW,
  USUAL_INDENTS,
  valueBehindDash,
  valueBelowKey,
  type WrittenValue,
} from './write-yaml.ts';
import { type CollectionNode, columnOf, type LayoutNode, type ScalarNode } from './yaml-layout.ts';

/** Folded text is not broken into shorter lines than these. */
const FOLDED_WIDTH = 80;

/** The place of the value. */
export interface ValuePlace {
  /** Of the file. */
  readonly text: string;
  readonly parent: 'map' | 'list';
  /** Of its key or dash. */
  readonly column: number;
  readonly indents: Indents;
}

/** Returns how `value` is written in block style like `model`: brackets stay brackets, and quotes quotes. */
export function writeLike(value: Json, model: LayoutNode | null, spot: ValuePlace): WrittenValue {
  if (isScalar(value)) return model?.kind === 'scalar' ? scalarLike(value, model, spot) : usual(value, spot);
  if (model?.kind === 'scalar' || model?.isFlow !== true || model.entries.length === 0) return usual(value, spot);
  return { head: flowText(value, flowStyleOf(spot.text, model)), body: [] };
}

function usual(value: Json, { parent, column, indents }: ValuePlace): WrittenValue {
  return parent === 'map' ? valueBelowKey(value, column, indents) : valueBehindDash(value, column, indents);
}

/** Returns how the collections in and beside a flow collection look. */
export function flowStyleOf(text: string, { kind, start, entries }: CollectionNode): FlowStyle {
  const [first] = entries;
  return {
    isPadded: kind === 'map' ? /\s/.test(text.charAt(start + 1)) : USUAL_FLOW.isPadded,
    isQuoted: first !== undefined && text.charAt(first.start) === '"',
  };
}

/** Returns the quotes that fit to how a scalar is written. */
export function quotingOf(node: LayoutNode | null): Quoting {
  return node?.kind === 'scalar' && (node.style === 'single' || node.style === 'double') ? node.style : 'plain';
}

function scalarLike(value: Scalar, model: ScalarNode, spot: ValuePlace): WrittenValue {
  if (typeof value !== 'string' || model.style === 'plain') return usual(value, spot);
  if (model.style === 'single' || model.style === 'double') {
    return { head: scalarText(value, model.style), body: [] };
  }
  const [header = '', ...lines] = spot.text.slice(model.start, model.end).split(/\r?\n/);
  const width = lines.reduce((most, line) => Math.max(most, line.length), FOLDED_WIDTH);
  const block = model.style === 'literal' ? literalBlock(value) : foldedBlock(value, width);
  if (block === undefined) return { head: scalarText(value), body: [] };
  const first = /^.\d|^..\d/.test(header) ? undefined : lines.find((line) => line.trim() !== '');
  return { head: block.head, body: indented(block.lines, first?.search(/\S/) ?? spot.column + 2) };
}

/** Returns how far the first map and the first list below a key are indented in `text`; two columns where there is none. */
export function indentsOf(text: string, root: LayoutNode): Indents {
  return {
    map: findIndent(text, root, 'map') ?? USUAL_INDENTS.map,
    list: findIndent(text, root, 'list') ?? USUAL_INDENTS.list,
  };
}

function findIndent(text: string, node: LayoutNode, kind: 'map' | 'list'): number | undefined {
  if (node.kind === 'scalar' || node.isFlow) return undefined;
  for (const { start, node: below } of node.entries) {
    if (below === null) continue;
    const isWanted = node.kind === 'map' && below.kind === kind && !below.isFlow;
    const indent = isWanted ? columnOf(text, below.start) - columnOf(text, start) : findIndent(text, below, kind);
    if (indent !== undefined) return indent;
  }
  return undefined;
}

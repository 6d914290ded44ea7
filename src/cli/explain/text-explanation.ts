// Formats an explanation as text: one key with all layers, or a whole record with the layers that set each key.

import { quoteSome, shortOid } from '../../base/wording.ts';
import type {
  ExplainedKey,
  ExplainedLayer,
  FileChange,
  FilePlace,
  LayerStatement,
  NodeExplanation,
} from '../../model/explanation.ts';
import { fieldOf } from '../../model/json.ts';
import { tableLines, visibleLine } from '../output.ts';

const USED = '*';
const UNUSED = ' ';
const NO_STATEMENT: Readonly<Record<ExplainedLayer['status'], string>> = {
  present: '-',
  absent: '- (no such object)',
  'not selected': '- (none selected)',
  'not known': '- (known to a controller only)',
};

/** Returns one key with all layers, specific to general; `*` marks the deciding layers. */
export function textOfKey(key: string, explanation: NodeExplanation): string {
  const explained = fieldOf(explanation.keys, key);
  if (explained === undefined) return visibleLine(`${key} is set by no layer`);
  const { layers } = explanation;
  // Computed keys come before all layers: no layer can override them.
  const isComputed = layers[explained.statements[0]?.layer ?? 0]?.kind === 'computed';
  const rows = layers.flatMap((layer, index): readonly Cells[] => {
    const statement = explained.statements.find((one) => one.layer === index);
    if (statement === undefined && isComputed !== (layer.kind === 'computed')) return [];
    if (statement !== undefined) return statementRows(statement, explanation);
    return [[UNUSED, layerText(layer), NO_STATEMENT[layer.status], ...fileCells(layer, explanation)]];
  });
  const lines = [visibleLine(keyHead(key, explained)), ...tableLines(rows, WIDTH_MAX)];
  return [...lines, ...noteLines(explanation)].join('\n');
}

/** Returns the layers of a node, then every key with the layers that set or remove it. */
export function textOfNode(explanation: NodeExplanation): string {
  const { node, layers, keys } = explanation;
  const rows = layers.map((layer): Cells => {
    const text = layer.status === 'present' ? (layer.file ?? '') : NO_STATEMENT[layer.status];
    const [, change = ''] = fileCells(layer, explanation);
    return [layerText(layer), text, change];
  });
  return [
    visibleLine(`The layers of ${node}, specific to general:`),
    ...tableLines(rows, WIDTH_MAX),
    ...noteLines(explanation),
    ...Object.entries(keys).map(([key, explained]) => blockOf(key, explained, explanation)),
  ].join('\n');
}

/** Returns the file of a layer and its last change; nothing for a layer without a file. */
function fileCells({ file }: ExplainedLayer, { files }: NodeExplanation): Cells {
  return file === null ? [] : [file, changeText(fieldOf(files, file))];
}

function blockOf(key: string, explained: ExplainedKey, explanation: NodeExplanation): string {
  const rows = explained.statements.flatMap((one) => {
    const isValueKnown = one.effect === 'used' && explained.merge === 'first';
    return statementRows(one, explanation, isValueKnown);
  });
  return [visibleLine(keyHead(key, explained)), ...tableLines(rows, WIDTH_MAX)].join('\n');
}

function keyHead(key: string, { value, merge, statements }: ExplainedKey): string {
  if (statements.some(({ effect }) => effect === 'unknown')) return `${key} is not in the record: it is not known yet`;
  if (value === null) return `${key} is not in the record: a layer removes it`;
  return `${key} = ${JSON.stringify(value)}${merge === 'unique' ? ', the lists of all layers joined (unique)' : ''}`;
}

function noteLines({ commit, isWanted }: NodeExplanation): readonly string[] {
  if (!isWanted) return ['    no commit wants it any more: as last recorded, with the layers that set a key'];
  return commit === null ? [] : [`    at commit ${shortOid(commit)}`];
}

/** A longer cell does not widen its column. */
const WIDTH_MAX = 44;
const DATE_LENGTH = '2026-11-20'.length;

/** One line of a table: its cells from left to right. */
type Cells = readonly string[];

/** Returns the name of a layer, such as `role web` or `properties`; only the type if no object is selected. */
function layerText({ kind, type, name }: ExplainedLayer): string {
  if (kind !== 'object') return kind;
  return name === null ? type : `${type} ${name}`;
}

/** Returns the commit and the day of a file's last change, or why they are unknown; empty without a repository. */
function changeText(change: FileChange | undefined): string {
  if (change === undefined) return '';
  const { commit, time, note } = change;
  return commit === null ? (note ?? '') : `${shortOid(commit)} ${(time ?? '').slice(0, DATE_LENGTH)}`.trimEnd();
}

/**
 * Returns the rows of one statement, with a second row if a parameter supplies the value. `isValueKnown`: the line
 * above has the value.
 */
function statementRows(
  statement: LayerStatement,
  { layers, files }: NodeExplanation,
  isValueKnown = false,
): readonly Cells[] {
  const { layer, at, suppliedAt, outputs = [], effect } = statement;
  const mark = effect === 'overridden' ? UNUSED : USED;
  const shown = layers[layer];
  const text = isValueKnown ? '' : statementText(statement);
  const first = [mark, shown === undefined ? '' : layerText(shown), text, ...placeCells(at, files)];
  const sources = outputs.map(({ output, servers }) => [`  from the output "${output}" of ${quoteSome(servers)}`]);
  const parameter = suppliedAt === null ? [] : [['  by the parameter', ...placeCells(suppliedAt, files)]];
  return [first, ...[...sources, ...parameter].map((cells) => ['', '', ...cells])];
}

function statementText({ value, adds, effect }: LayerStatement): string {
  if (effect === 'unknown') return 'not known yet';
  if (value === null) return 'null (removes it)';
  const isPart = adds !== undefined && JSON.stringify(adds) !== JSON.stringify(value);
  if (!isPart) return JSON.stringify(value);
  return `${JSON.stringify(value)}, adds ${adds.length === 0 ? 'nothing' : JSON.stringify(adds)}`;
}

/** Returns a place and the last change of its file; nothing for a computed value. */
function placeCells(place: FilePlace | null, files: NodeExplanation['files']): Cells {
  return place === null ? [] : [`${place.file}:${place.line}`, changeText(fieldOf(files, place.file))];
}

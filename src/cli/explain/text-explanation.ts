// Formats an explanation for people: one key with all layers, or a whole record with the layers that set each key.
import type { ExplainedKey, ExplainedLayer, NodeExplanation } from '../../model/explanation.ts';
import { fieldOf } from '../../model/json.ts';
import { shortOid } from '../../model/short-oid.ts';
import { visibleLine } from '../output.ts';
import { type Cells, changeText, layerText, recordValueText, statementRows, tableLines } from './statement-lines.ts';

const USED = '*';
const UNUSED = ' ';
const NO_STATEMENT: Readonly<Record<ExplainedLayer['status'], string>> = {
  present: '-',
  absent: '- (no such object)',
  'not selected': '- (none selected)',
  'not known': '- (known to a controller only)',
};

/** Returns one key with all layers, specific to general; `*` marks those that decide. */
export function textOfKey(key: string, explanation: NodeExplanation): string {
  const explained = fieldOf(explanation.keys, key);
  if (explained === undefined) return visibleLine(`${key} is set by no layer`);
  const { layers } = explanation;
  // The computed keys stand above all layers: no other layer can set them.
  const isComputed = layers[explained.statements[0]?.layer ?? 0]?.kind === 'computed';
  const rows = layers.flatMap((layer, index): readonly Cells[] => {
    const statement = explained.statements.find((one) => one.layer === index);
    if (statement === undefined && isComputed !== (layer.kind === 'computed')) return [];
    if (statement !== undefined) return statementRows(statement, explanation, { mark: markOf(statement.effect) });
    return [[UNUSED, layerText(layer), NO_STATEMENT[layer.status], ...fileCells(layer, explanation)]];
  });
  const lines = [visibleLine(headOf(key, explained)), ...tableLines(rows)];
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
    ...tableLines(rows),
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
    return statementRows(one, explanation, { mark: markOf(one.effect), isValueKnown });
  });
  return [visibleLine(headOf(key, explained)), ...tableLines(rows)].join('\n');
}

function headOf(key: string, { value, merge }: ExplainedKey): string {
  if (value === null) return `${key} is not in the record: a layer removes it`;
  return `${key} = ${recordValueText(value)}${merge === 'unique' ? ', the lists of all layers joined (unique)' : ''}`;
}

function markOf(effect: ExplainedKey['statements'][number]['effect']): string {
  return effect === 'overridden' ? UNUSED : USED;
}

function noteLines({ commit, isWanted }: NodeExplanation): readonly string[] {
  if (!isWanted) return ['    no commit wants it any more: as last recorded, with the layers that set a key'];
  return commit === null ? [] : [`    at commit ${shortOid(commit)}`];
}

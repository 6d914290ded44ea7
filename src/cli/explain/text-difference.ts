// Formats the differences between two explanations of one node for people.
import { countOf } from '../../model/count-words.ts';
import type { ExplainedKey, ExplanationDifference, KeyChange, LayerStatement } from '../../model/explanation.ts';
import { visibleLine } from '../output.ts';
import { type Cells, recordValueText, type StatementContext, statementRows, tableLines } from './statement-lines.ts';

/** The titles of the two sides, such as a revision, and the key if only one is compared. */
interface DifferenceTitles {
  readonly from: string;
  readonly to: string;
  readonly key?: string | undefined;
}

/** Returns each key that differs: its values, then the layers that say so on the one side (`-`) and on the other (`+`). */
export function textOfDifference(difference: ExplanationDifference, titles: DifferenceTitles): string {
  const { changes } = difference;
  const lines = [visibleLine(headOf(difference, titles)), ...changes.map((change) => changeText(change, difference))];
  return lines.join('\n');
}

function headOf({ node, from, to, changes }: ExplanationDifference, titles: DifferenceTitles): string {
  const { key } = titles;
  if (from === null) return `${node} exists only in ${titles.to}, not in ${titles.from}`;
  if (to === null) return `${node} exists only in ${titles.from}, not in ${titles.to}`;
  const range = `from ${titles.from} to ${titles.to}`;
  if (changes.length > 0) return `${node}, ${range}: ${countOf(changes.length, 'key')} changed`;
  return key === undefined
    ? `${node}, ${range}: nothing changes in its record`
    : `${node}, ${range}: ${key} stays as it is`;
}

function changeText({ key, from, to }: KeyChange, sides: ExplanationDifference): string {
  const [left, right] = [statementsOf(from, to), statementsOf(to, from)];
  const rows: Cells[] = [
    ...left.flatMap((one) => rowsOf(one, sides.from, '-')),
    ...right.flatMap((one) => rowsOf(one, sides.to, '+')),
  ];
  return [visibleLine(`${key}: ${valuesText(from, to)}`), ...tableLines(rows)].join('\n');
}

function valuesText(from: ExplainedKey | null, to: ExplainedKey | null): string {
  const [before, after] = [from?.value ?? null, to?.value ?? null];
  if (before === null) return `added, ${recordValueText(after)}`;
  if (after === null) return `removed, it was ${recordValueText(before)}`;
  return `${recordValueText(before)} -> ${recordValueText(after)}`;
}

/** The statements that decide; of joined lists only those that the other side has not. */
function statementsOf(own: ExplainedKey | null, other: ExplainedKey | null): readonly LayerStatement[] {
  const decisive = (own?.statements ?? []).filter(({ effect }) => effect !== 'overridden');
  if (own?.merge !== 'unique') return decisive;
  const known = new Set(other?.statements.map(contentOf));
  const different = decisive.filter((statement) => !known.has(contentOf(statement)));
  return different.length === 0 ? decisive : different;
}

function contentOf({ value, at }: LayerStatement): string {
  return JSON.stringify([value, at?.file]);
}

function rowsOf(statement: LayerStatement, side: StatementContext | null, mark: string): readonly Cells[] {
  return side === null ? [] : statementRows(statement, side, { mark });
}

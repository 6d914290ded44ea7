// Formats the statements of layers as the lines of a table. The text is escaped by the caller.
import type {
  ExplainedLayer,
  FileChange,
  FilePlace,
  LayerStatement,
  NodeExplanation,
} from '../../model/explanation.ts';
import { fieldOf } from '../../model/json.ts';
import type { RecordValue } from '../../model/record.ts';
import { shortOid } from '../../model/short-oid.ts';
import { visibleLine } from '../output.ts';

/** A longer cell does not widen its column. */
const WIDTH_MAX = 44;
const DATE_LENGTH = '2026-11-20'.length;

/** One line of a table: its cells from left to right. */
export type Cells = readonly string[];

/** Returns the lines of a table below a heading, each column as wide as its widest cell; empty columns are left out. */
export function tableLines(rows: readonly Cells[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      if (cell.length <= WIDTH_MAX) widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  return rows.map((row) => {
    const cells = row.flatMap((cell, column) => {
      const width = widths[column] ?? 0;
      return cell === '' && width === 0 ? [] : [visibleLine(cell).padEnd(width)];
    });
    return `    ${cells.join('  ')}`.trimEnd();
  });
}

/** Returns a value as it is printed: JSON in one line. */
export function recordValueText(value: RecordValue | null): string {
  return JSON.stringify(value);
}

/** Returns the name of a layer for people: `role web`, `properties`; only the type where no object is selected. */
export function layerText({ kind, type, name }: ExplainedLayer): string {
  if (kind !== 'object') return kind;
  return name === null ? type : `${type} ${name}`;
}

/** Returns the commit and the day of a file's last change, or why they are not known; empty without a repository. */
export function changeText(change: FileChange | undefined): string {
  if (change === undefined) return '';
  const { commit, time, note } = change;
  return commit === null ? (note ?? '') : `${shortOid(commit)} ${(time ?? '').slice(0, DATE_LENGTH)}`.trimEnd();
}

/** The parts of an explanation that a statement refers to. */
export type StatementContext = Pick<NodeExplanation, 'layers' | 'files'>;

/** How {@link statementRows} formats. */
interface RowOptions {
  /** The first cell. */
  readonly mark: string;
  /** Leaves out the value: the line above has it. */
  readonly isValueKnown?: boolean;
}

/** Returns the rows of one statement: a second one where a parameter supplies the value. */
export function statementRows(
  statement: LayerStatement,
  { layers, files }: StatementContext,
  { mark, isValueKnown = false }: RowOptions,
): readonly Cells[] {
  const { layer, at, suppliedAt } = statement;
  const shown = layers[layer];
  const text = isValueKnown ? '' : statementText(statement);
  const first = [mark, shown === undefined ? '' : layerText(shown), text, ...placeCells(at, files)];
  return suppliedAt === null ? [first] : [first, ['', '', '  by the parameter', ...placeCells(suppliedAt, files)]];
}

function statementText({ value, adds }: LayerStatement): string {
  if (value === null) return 'null (removes it)';
  const isPart = adds !== undefined && recordValueText(adds) !== recordValueText(value);
  if (!isPart) return recordValueText(value);
  return `${recordValueText(value)}, adds ${adds.length === 0 ? 'nothing' : recordValueText(adds)}`;
}

/** Returns a place and the last change of its file; nothing for a computed value. */
function placeCells(place: FilePlace | null, files: NodeExplanation['files']): Cells {
  return place === null ? [] : [`${place.file}:${place.line}`, changeText(fieldOf(files, place.file))];
}

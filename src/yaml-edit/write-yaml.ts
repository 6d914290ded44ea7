// Writes new YAML files and values: block style on several lines, or flow style on one.
import { isMap, type Json, type JsonMap } from '../model/json.ts';
import { literalBlock, type Scalar, scalarText } from './write-scalar.ts';

/** The number of columns by which a nested map or list is indented below its key. */
export interface Indents {
  readonly map: number;
  readonly list: number;
}

/** The indents of a new file. */
export const USUAL_INDENTS: Indents = { map: 2, list: 2 };

/** The style of flow collections. */
export interface FlowStyle {
  /** `{ a: 1 }`, not `{a: 1}`. */
  readonly isPadded: boolean;
  /** Keys and texts in double quotes, as in JSON. */
  readonly isQuoted: boolean;
}

/** The style of flow collections in a new file. */
export const USUAL_FLOW: FlowStyle = { isPadded: true, isQuoted: false };

/** A value behind its key or dash. */
export interface WrittenValue {
  /** On the same line; empty where everything stands below. */
  readonly head: string;
  /** The lines below, with their indentation and without line ends. */
  readonly body: readonly string[];
}

/**
 * Returns the text of a new file: `modeline` (a whole comment line without its end) first, then the object in block style,
 * keys in the order given, with quotes where a text would read as something else. A text that no file may hold (NUL, half
 * of a surrogate pair) and a nesting that is too deep are written as they are; reading the file back reports them.
 */
export function writeYaml(object: JsonMap, modeline: string): string {
  const lines = isEmpty(object) ? ['{}'] : blockLines(object, 0, USUAL_INDENTS);
  return `${[modeline, ...lines].join('\n')}\n`;
}

/** Tells what is no map and no list. */
export function isScalar(value: Json): value is Scalar {
  return typeof value !== 'object' || value === null;
}

/** Returns the lines of a map or list that is not empty, the first entry of which begins in `column`. */
function blockLines(value: JsonMap | readonly Json[], column: number, indents: Indents): readonly string[] {
  const pad = ' '.repeat(column);
  if (isMap(value)) {
    return Object.entries(value).flatMap(([key, below]) => {
      const { head, body } = valueBelowKey(below, column, indents);
      return [`${pad}${scalarText(key)}:${head === '' ? '' : ` ${head}`}`, ...body];
    });
  }
  return value.flatMap((item) => {
    const { head, body } = valueBehindDash(item, column, indents);
    return [`${pad}- ${head}`, ...body];
  });
}

/** Returns a value as it stands behind a key in `column`. */
export function valueBelowKey(value: Json, column: number, indents: Indents): WrittenValue {
  if (isScalar(value)) return scalarValue(value, column + indents.map);
  if (isEmpty(value)) return { head: isMap(value) ? '{}' : '[]', body: [] };
  const indent = isMap(value) ? indents.map : indents.list;
  return { head: '', body: blockLines(value, column + indent, indents) };
}

/** Returns a value as it stands behind a dash in `column`: the first entry of a map or list follows on the same line. */
export function valueBehindDash(value: Json, column: number, indents: Indents): WrittenValue {
  if (isScalar(value)) return scalarValue(value, column + 2);
  if (isEmpty(value)) return { head: isMap(value) ? '{}' : '[]', body: [] };
  const [first = '', ...body] = blockLines(value, column + 2, indents);
  return { head: first.trimStart(), body };
}

function scalarValue(value: Scalar, column: number): WrittenValue {
  const block = typeof value === 'string' && value.includes('\n') ? literalBlock(value) : undefined;
  if (block === undefined) return { head: scalarText(value), body: [] };
  return { head: block.head, body: indented(block.lines, column) };
}

/** Returns lines moved to the right; empty ones stay empty. */
export function indented(lines: readonly string[], columns: number): readonly string[] {
  return lines.map((line) => (line === '' ? '' : `${' '.repeat(columns)}${line}`));
}

/** Returns a value on one line, collections in brackets. */
export function flowText(value: Json, style: FlowStyle): string {
  if (isScalar(value)) return scalarText(value, style.isQuoted ? 'double' : 'plain', true);
  if (isMap(value)) {
    const pairs = Object.entries(value).map(([key, below]) => flowPair(key, below, style));
    const pad = style.isPadded && pairs.length > 0 ? ' ' : '';
    return `{${pad}${pairs.join(', ')}${pad}}`;
  }
  return `[${value.map((item) => flowText(item, style)).join(', ')}]`;
}

/** Returns a key with its value, as in braces. */
export function flowPair(key: string, value: Json, style: FlowStyle): string {
  return `${flowText(key, style)}: ${flowText(value, style)}`;
}

/** Tells a map or list without entries. */
function isEmpty(value: JsonMap | readonly Json[]): boolean {
  return Object.keys(value).length === 0;
}

// Prints YAML: new files, and new values of a file that is edited.
import {
  Document,
  isCollection,
  isScalar,
  type Node,
  Pair,
  Scalar,
  type ToStringOptions,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Json, JsonMap } from '../model/json.ts';

/** Readers of YAML 1.1, such as Puppet and Ansible, take `no` and `1:30` for other values: a text gets quotes. */
export const DOCUMENT_OPTIONS = { compat: 'yaml-1.1', uniqueKeys: false } as const;

/** Long texts stay on one line. */
const PRINT_OPTIONS = { lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER } as const;

/** Characters that no file may contain: they are written as escapes, in double quotes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones
const UNPRINTABLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]/u;

/**
 * Returns the text of a new file: `modeline` (a whole comment line without its end) first, then the object in block
 * style, keys in the order given, with quotes around a text that would be read as something else.
 */
export function writeYaml(object: JsonMap, modeline: string): string {
  const document = new Document(null, DOCUMENT_OPTIONS);
  document.contents = yamlNode(document, object) as never;
  return `${modeline}\n${printed(document)}\n`;
}

/** Returns a value on one line as JSON that is YAML, too. */
export function flowText(value: Json): string {
  return escaped(JSON.stringify(value)).replace(/"(?:[^"\\]|\\.)*"(?=:)|,(?=")/g, '$& ');
}

/** How a part of a file is printed: `like` is a value whose quotes or block a text takes over. */
interface PrintOptions extends ToStringOptions {
  readonly key?: string | undefined;
  readonly like?: Node | undefined;
}

/** Returns the lines of a map with one key; of a list with one item if no key is given. */
export function printEntry(value: Json, { key, like, ...options }: PrintOptions): readonly string[] {
  const document = new Document(null, DOCUMENT_OPTIONS);
  const node = yamlNode(document, value);
  if (isScalar(node) && isScalar(like)) keepQuotes(node, like);
  if (isCollection(node) && key === undefined && isCollection(like) && like.flow === true) node.flow = true;
  const contents = document.createNode(key === undefined ? [] : {}) as YAMLSeq | YAMLMap;
  contents.items.push((key === undefined ? node : new Pair(yamlNode(document, key), node)) as never);
  document.contents = contents as never;
  return printed(document, options).split('\n');
}

/** Returns a value as it is written in brackets, on one line. */
export function printFlow(value: Json, { like, ...options }: PrintOptions): string {
  const document = new Document(null, DOCUMENT_OPTIONS);
  const node = yamlNode(document, [value]) as YAMLSeq;
  const [item] = node.items;
  if (isScalar(item) && isScalar(like)) keepQuotes(item, like);
  visit(node, {
    Scalar(_key, scalar) {
      if (String(scalar.value).includes('\n')) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  node.flow = true;
  document.contents = node as never;
  return printed(document, options).slice(1, -1).trim();
}

/** A text keeps its quotes, or stays a block, if it can. */
function keepQuotes(text: Scalar, { type }: Scalar): void {
  if (typeof text.value !== 'string' || text.type !== undefined || type === undefined || type === Scalar.PLAIN) return;
  const isBlock = type === Scalar.BLOCK_LITERAL || type === Scalar.BLOCK_FOLDED;
  if (isBlock || !text.value.includes('\n')) text.type = type;
}

function printed(document: Document, options: ToStringOptions = {}): string {
  return escaped(document.toString({ ...PRINT_OPTIONS, ...options })).replace(/\n$/, '');
}

function yamlNode(document: Document, value: Json): Node {
  const node = document.createNode(value, { aliasDuplicateObjects: false });
  visit(node, { Scalar: (_key, scalar) => quote(scalar) });
  return node;
}

/** Numbers and times that the tables of `yaml` do not know, markers, and blanks that a block would lose. */
const QUOTED = /^(?:=|[-+]?\d[\d,]*|\d{4}-\d\d?-\d\d?\b.*)$|^(?:---|\.\.\.)|^\s|[ \t]$|[ \t]\n|\n\n$/;

function quote(scalar: Scalar): void {
  const { value } = scalar;
  if (value === 0) scalar.value = 0; // and not -0
  if (typeof value === 'string' && (UNPRINTABLE.test(value) || QUOTED.test(value))) scalar.type = Scalar.QUOTE_DOUBLE;
}

function escaped(text: string): string {
  return text.replace(new RegExp(UNPRINTABLE, 'gu'), (sign) =>
    sign === '\r' ? sign : `\\u${Number(sign.codePointAt(0)).toString(16).padStart(4, '0')}`,
  );
}

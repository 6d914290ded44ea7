// Prints YAML: new files, and edited documents.
import { Document, isCollection, isScalar, type Node, Scalar, type ToStringOptions, visit } from 'yaml';
import type { Json, JsonMap } from '../model/json.ts';

/** Quotes texts such as `no` and `1:30`, which readers of YAML 1.1 (Puppet, Ansible) would read as other values. */
export const DOCUMENT_OPTIONS = { compat: 'yaml-1.1', uniqueKeys: false } as const;

/** Long texts stay on one line. */
const PRINT_OPTIONS = { lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER } as const;

/** Characters that a file must not contain. They are escaped in double quotes. */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\p{Cs}]/u;

/**
 * Returns the text of a new file: `modeline` (a comment line without its end), then the object in block style, with
 * keys in the given order and quotes around ambiguous texts.
 */
export function writeYaml(object: JsonMap, modeline: string): string {
  const document = new Document(null, DOCUMENT_OPTIONS);
  document.contents = yamlNode(document, object) as never;
  return `${modeline}\n${printDocument(document, {})}`;
}

/**
 * A comment that is removed after printing. A comment at the first entry makes `yaml` print brackets over several
 * lines.
 */
export const LINE_MARK = '\0';

/** Returns the text of a document. */
export function printDocument(document: Document, options: ToStringOptions): string {
  const text = document.toString({ ...PRINT_OPTIONS, ...options });
  return escaped(text.replaceAll(/:\n *([[{]\n) *#\0\n/g, ': $1').replaceAll(/^ *#\0\n/gm, ''));
}

/**
 * Returns a node for a value. A text keeps the quotes or block style of `like` if possible, a collection its
 * brackets.
 */
export function yamlNode(document: Document, value: Json, like?: Node | null): Node {
  const node = document.createNode(value, { aliasDuplicateObjects: false });
  visit(node, { Scalar: (_key, scalar) => quote(scalar) });
  if (isCollection(node)) {
    const isLike = isCollection(like) && like.items.length > 0 && like.flow === true;
    node.flow = isLike || node.items.length === 0;
  }
  if (isScalar(node) && isScalar(like)) keepQuotes(node, like);
  return node;
}

function keepQuotes(text: Scalar, { type }: Scalar): void {
  if (typeof text.value !== 'string' || text.type !== undefined || type === undefined || type === Scalar.PLAIN) return;
  const isBlock = type === Scalar.BLOCK_LITERAL || type === Scalar.BLOCK_FOLDED;
  if (isBlock || !text.value.includes('\n')) text.type = type;
}

/** Numbers and times that `yaml` does not recognise, markers, and blanks that a block would lose. */
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

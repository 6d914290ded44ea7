// Changes a YAML file: edits its document, and keeps the lines of the file that are printed as before.
import {
  type Document,
  isCollection,
  isMap as isMapNode,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  Pair,
  parseDocument,
  type ToStringOptions,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isMap, isSame, type Json, type JsonMap } from '../model/json.ts';
import { isError, type Problem } from '../model/problem.ts';
import { matchItems, mergeLines } from './merge-lines.ts';
import { DOCUMENT_OPTIONS, LINE_MARK, printDocument, yamlNode } from './print-yaml.ts';

/** A parsed text; `value` is undefined if nothing could be read. */
interface Parsed {
  readonly value: Json | undefined;
  readonly problems: readonly Problem[];
}

/** A file with its text, including a byte order mark, and its parsed document. */
interface ParsedFile<Document extends Parsed> {
  readonly text: string;
  readonly document: Document;
}

/** The file after the edit, or the reason for the user to edit it by hand. */
type Edited<Document extends Parsed> =
  | { readonly ok: true; readonly file: ParsedFile<Document> }
  | { readonly ok: false; readonly reason: string };

/**
 * Returns the file, changed so that it reads as `wanted`. Unaffected lines stay unchanged, as do line ends, a byte
 * order mark and a missing last line end. A changed line gets the usual spacing.
 *
 * A new key comes last in its map. Items of a list are matched by value, by `name`, or by place. The comments directly
 * above a removed key or item, on its lines and inside it are removed with it; all others stay. A file with more than
 * one indentation may be refused.
 *
 * `parse` is called with the new text. The edit is refused unless its document has the value `wanted`.
 */
export function editYaml<Document extends Parsed>(
  file: ParsedFile<Document>,
  wanted: JsonMap,
  parse: (text: string) => Document,
): Edited<Document> {
  const old = file.document.value;
  const fault = faultOf(file.document);
  if (fault !== undefined) return { ok: false, reason: `the file has a mistake already: ${fault}` };
  if (!isMap(old)) return { ok: false, reason: 'the file contains no map of keys and values' };
  if (isSame(old, wanted)) return { ok: true, file };
  const text = editedText(file.text, { old, wanted });
  if (typeof text !== 'string') return { ok: false, reason: text.fault };
  const document = parse(text);
  const mistake = faultOf(document);
  if (mistake === undefined && isSame(document.value, wanted)) return { ok: true, file: { text, document } };
  const reason = 'other values in the file would change';
  return { ok: false, reason: mistake === undefined ? reason : `${reason}: ${mistake}` };
}

function faultOf({ problems }: Parsed): string | undefined {
  const first = problems.find(isError);
  return first === undefined ? undefined : `line ${first.line}: ${first.message}`;
}

/** The old and the wanted value. */
interface Change<Value = Json> {
  readonly old: Value;
  readonly wanted: Value;
}

function editedText(whole: string, change: Change<JsonMap>): string | { readonly fault: string } {
  const mark = whole.startsWith('\uFEFF') ? '\uFEFF' : '';
  const eol = /\r?\n/.exec(whole)?.[0] ?? '\n';
  const isOpen = !whole.endsWith('\n');
  const written = whole.slice(mark.length) + (isOpen ? eol : '');
  const text = written.replaceAll('\r\n', '\n');
  const document = parseDocument(text, DOCUMENT_OPTIONS);
  const [error] = document.errors;
  if (error) return { fault: `line ${error.linePos?.[0].line}: ${error.message.replace(/ at line .*/s, '')}` };
  readStyles(document, text);
  const options = styleOf(text);
  const printedLines = (): readonly string[] => printDocument(document, options).replaceAll('\n', eol).split('\n');
  const before = printedLines();
  document.contents = editNode(document, document.contents, change) as never;
  const edited = mergeLines(written.split('\n'), before, printedLines())?.join('\n');
  if (edited === undefined) return { fault: 'too many of its lines change at once' };
  return mark + (isOpen ? edited.replace(/\r?\n$/, '') : edited);
}

const KEY = /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*/.source;
const NESTED_MAP = new RegExp(`${KEY}\\1( +)[^\\s#-]`, 'm');
const FLUSH_LIST = new RegExp(`${KEY}\\1- `, 'm');

/** Returns the style of the file, taken from its first nested map, first bracket and first unindented list. */
function styleOf(text: string): ToStringOptions {
  return {
    indent: NESTED_MAP.exec(text)?.[2]?.length ?? 2,
    indentSeq: !FLUSH_LIST.test(text),
    flowCollectionPadding: /[{[]( ?)[^ \n\]}]/.exec(text)?.[1] !== '',
    trailingComma: /,\s*[\]}]/.test(text),
  };
}

type Collection = YAMLMap<Node, Node | null> | YAMLSeq<Node>;

/** Returns the node that has the comments above an entry. */
function headOf(entry: unknown): Node | undefined {
  const head = isPair(entry) ? entry.key : entry;
  return isNode(head) ? head : undefined;
}

/**
 * Marks brackets that span several lines. Attaches comments above the first entry of a map or list to the entry, unless
 * the key has a comment, and those at the top of the file to the file.
 */
function readStyles(document: Document, text: string): void {
  visit(document, {
    Collection(_key, node) {
      const { range, flow, items } = node as Collection;
      const head = headOf(items[0]);
      const isOnLines = flow === true && range && text.slice(range[0], range[1]).includes('\n');
      if (head && isOnLines) head.commentBefore = joined([LINE_MARK, head.commentBefore]);
    },
    Pair(_key, { key, value }) {
      const first = isCollection(value) && value.flow !== true ? headOf(value.items[0]) : undefined;
      const isBehindKey = isNode(key) && /^[^\n]*#/.test(text.slice(key.range?.[1]));
      if (isNode(value) && first && !isBehindKey) moveComment(value, first);
    },
  });
  const { contents } = document;
  const first = isCollection(contents) && contents.flow !== true ? headOf(contents.items[0]) : undefined;
  if (isNode(contents) && first) moveComment(first, contents);
}

function moveComment(from: Node, to: Node): void {
  to.commentBefore = joined([from.commentBefore, to.commentBefore]);
  from.commentBefore = null;
}

/** Returns the node for a wanted value: the same one if it can be edited. */
function editNode(document: Document, node: Node | null, { old, wanted }: Change): Node | null {
  if (isSame(old, wanted)) return node;
  const [size, left] = [old, wanted].map((value) => Object.keys(value ?? {}).length);
  if (size !== 0 && left !== 0) {
    if (isMapNode<Node, Node | null>(node) && isMap(old) && isMap(wanted))
      return editMap(document, node, { old, wanted });
    if (isSeq<Node>(node) && Array.isArray(old) && Array.isArray(wanted))
      return editList(document, node, { old, wanted });
  }
  const created = yamlNode(document, wanted, node);
  const wasBlock = isCollection(node) && node.flow !== true;
  const isBlock = isCollection(created) && created.flow !== true;
  const below = wasBlock ? endComments(node) : node?.comment;
  created.spaceBefore = node?.spaceBefore === true;
  created.commentBefore = joined([node?.commentBefore, wasBlock || isBlock ? below : '']);
  created.comment = wasBlock || isBlock ? null : (below ?? null);
  return created;
}

function editMap(
  document: Document,
  map: YAMLMap<Node, Node | null>,
  { old, wanted }: Change<JsonMap>,
): YAMLMap<Node, Node | null> {
  const kept = map.items.filter(({ key }) => Object.hasOwn(wanted, nameOf(key)));
  keepComments(map, new Set(kept));
  for (const pair of kept) {
    const [from = null, to = null] = [old[nameOf(pair.key)], wanted[nameOf(pair.key)]];
    pair.value = editNode(document, pair.value, { old: from, wanted: to });
  }
  const like = map.items[0]?.key;
  const added = Object.entries(wanted).filter(([key]) => !Object.hasOwn(old, key));
  map.items = [
    ...kept,
    ...added.map(([key, value]) => new Pair(yamlNode(document, key, like), yamlNode(document, value))),
  ];
  return map;
}

/** Returns a key like js-yaml: a number or null as written. */
function nameOf(key: unknown): string {
  if (!isScalar(key)) return '';
  return typeof key.value === 'string' ? key.value : String(key.source);
}

function editList(document: Document, list: YAMLSeq<Node>, { old, wanted }: Change<readonly Json[]>): YAMLSeq<Node> {
  const matched = matchItems(old, wanted);
  const { items } = list;
  keepComments(list, new Set(matched.map((from) => items[from])));
  list.items = wanted.map((value, to) => {
    const from = matched[to] ?? -1;
    const [node, before] = [items[from], old[from]];
    if (node === undefined || before === undefined) return yamlNode(document, value, items.at(-1));
    return editNode(document, node, { old: before, wanted: value }) ?? node;
  });
  return list;
}

/**
 * Keeps comments that do not belong to a removed entry: comments above it followed by a blank line, and comments at its
 * end, which `yaml` does not distinguish from those above the next entry.
 */
function keepComments(collection: Collection, kept: ReadonlySet<unknown>): void {
  let free: string[] = [];
  for (const entry of collection.items) {
    const head = headOf(entry);
    const own = head?.commentBefore ?? '';
    if (!kept.has(entry)) {
      free.push(own.slice(0, own.lastIndexOf('\n\n') + 1), endComments(isPair(entry) ? entry.value : entry));
    } else if (head) {
      head.commentBefore = joined([...free, own]);
      free = [];
    }
  }
  collection.comment = joined([...free, collection.comment]).trimEnd();
}

/** Returns the comments at the end of a block. */
function endComments(node: unknown): string {
  if (!isCollection(node) || node.flow === true) return '';
  const last = node.items.at(-1);
  return joined([endComments(isPair(last) ? last.value : last), node.comment]);
}

function joined(comments: readonly (string | null | undefined)[]): string {
  return comments.filter((comment) => comment).join('\n');
}

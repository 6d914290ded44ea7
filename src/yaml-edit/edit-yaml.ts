// Changes a YAML file: replaces the text of the values that change, and leaves every other byte as it is.
import {
  isCollection,
  isMap as isMapNode,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  Scalar,
  type ToStringOptions,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { invariant } from '../base/invariant.ts';
import { fieldOf, isMap, isSame, type Json, type JsonMap } from '../model/json.ts';
import { isError, type Problem } from '../model/problem.ts';
import { matchItems } from './match-items.ts';
import { DOCUMENT_OPTIONS, flowText, printEntry, printFlow } from './print-yaml.ts';

/** A parsed text; `value` is undefined if nothing could be read. */
interface Parsed {
  readonly value: Json | undefined;
  readonly problems: readonly Problem[];
}

/** A file with its text, byte order mark included, and what a parser reads in it. */
interface ParsedFile<Document extends Parsed> {
  readonly text: string;
  readonly document: Document;
}

/** The file after the edit, or the reason for the user to edit it by hand. */
type Edited<Document extends Parsed> =
  | { readonly ok: true; readonly file: ParsedFile<Document> }
  | { readonly ok: false; readonly reason: string };

/** A style of writing that edits do not support. */
class Unsupported extends Error {}

/**
 * Returns the file changed so that it reads as `wanted`. Only the text of changed values changes: comments, blank
 * lines, quotes, order, indentation, line ends, a byte order mark and a missing last line end stay.
 *
 * A new key comes last in its map. Items of a list are matched by value, by `name`, or by place. A removed key or item
 * takes its own comments along: directly above it, on its lines, and below it if indented deeper. No other comment is
 * ever removed.
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
  if (!isMap(old)) return { ok: false, reason: 'the file holds no map of keys and values' };
  if (isSame(old, wanted)) return { ok: true, file };
  try {
    const text = editedText(file.text, old, wanted);
    const document = parse(text);
    const mistake = faultOf(document);
    if (mistake === undefined && isSame(document.value, wanted)) return { ok: true, file: { text, document } };
    const reason = 'other values in the file would change';
    return { ok: false, reason: mistake === undefined ? reason : `${reason}: ${mistake}` };
  } catch (error) {
    if (error instanceof Unsupported) return { ok: false, reason: error.message };
    throw error;
  }
}

function faultOf({ problems }: Parsed): string | undefined {
  const first = problems.find(isError);
  return first === undefined ? undefined : `line ${first.line}: ${first.message}`;
}

function editedText(text: string, old: JsonMap, wanted: JsonMap): string {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const eol = /\r?\n/.exec(text)?.[0] ?? '\n';
  const isOpen = !text.endsWith('\n');
  const edited = new Editor(text.slice(mark.length) + (isOpen ? eol : ''), eol).edit(old, wanted);
  return mark + (isOpen ? edited.replace(/\r?\n$/, '') : edited);
}

type Collection = (YAMLMap | YAMLSeq) & { readonly items: readonly unknown[] };

/** A key or item: its place in the text. */
interface Entry {
  readonly value: Node | undefined;
  /** The offset of the key or dash. */
  readonly start: number;
  /** The offset behind the colon or dash; undefined for a key or item without one. */
  readonly lead: number | undefined;
  /** The offset behind the value. */
  readonly end: number;
  /** Own comments included: offsets of the first line, and of the line below the last one. */
  readonly from: number;
  readonly below: number;
  /** Something else is on the line in front of it, such as the dash of the list. */
  readonly isBehind: boolean;
}

/** Values as they were read and as they are wanted. */
interface Change<Value extends Json = Json> {
  readonly old: Value;
  readonly wanted: Value;
}

/**
 * What becomes of the entries of a collection: the wanted value of each kept one, and new ones, each after the entry
 * with an index.
 */
interface Plan {
  readonly kept: ReadonlyMap<number, Change>;
  readonly added: readonly { readonly follows: number; readonly key?: string | undefined; readonly value: Json }[];
}

class Editor {
  readonly #text: string;
  readonly #eol: string;
  readonly #root: unknown;
  readonly #options: ToStringOptions;
  readonly #splices: { readonly from: number; readonly to: number; readonly text: string }[] = [];

  constructor(text: string, eol: string) {
    this.#text = text;
    this.#eol = eol;
    const document = parseDocument(text, { ...DOCUMENT_OPTIONS, keepSourceTokens: true });
    const [error] = document.errors;
    if (error) throw new Unsupported(`line ${error.linePos?.[0].line}: ${error.message.replace(/ at line .*/s, '')}`);
    this.#root = document.contents;
    this.#options = this.#style(document.contents);
  }

  edit(old: JsonMap, wanted: JsonMap): string {
    if (!isMapNode(this.#root)) throw new Unsupported('the file holds no map of keys and values');
    if (this.#root.items.length === 0) {
      const lines = Object.entries(wanted).flatMap(([key, value]) => printEntry(value, { ...this.#options, key }));
      this.#replace(this.#root.range?.[0], this.#root.range?.[1], lines.join('\n'));
    } else this.#collection(this.#root, { old, wanted });
    let [text, at] = ['', 0];
    for (const splice of this.#splices.sort((a, b) => a.from - b.from || a.to - b.to)) {
      if (splice.from < at) throw new Unsupported('two changes concern one line');
      text += this.#text.slice(at, splice.from) + splice.text.replaceAll('\n', this.#eol);
      at = splice.to;
    }
    return text + this.#text.slice(at);
  }

  #replace(from = 0, to = from, text = ''): void {
    if (from !== to || text !== '') this.#splices.push({ from, to, text });
  }

  /** The first nested map, list and bracket show how the file is written. */
  #style(root: unknown): ToStringOptions {
    let [indent, indentSeq]: (number | boolean | undefined)[] = [];
    visit(root as Node, {
      Pair: (_key, { key, value }) => {
        if (!isNode(key) || !isCollection(value) || value.flow === true) return;
        const by = this.#column(startOf(value)) - this.#column(startOf(key));
        if (isSeq(value)) indentSeq ??= by > 0;
        if (by > 0) indent ??= by;
      },
    });
    const padding = /[{[](?= *[^ \]}])( ?)/.exec(this.#text)?.[1];
    return { indent: Number(indent ?? 2), indentSeq: indentSeq !== false, flowCollectionPadding: padding !== '' };
  }

  #lineStart(offset: number): number {
    return this.#text.lastIndexOf('\n', offset - 1) + 1;
  }

  #nextLine(offset: number): number {
    const at = this.#text.indexOf('\n', offset);
    return at === -1 ? this.#text.length : at + 1;
  }

  #column(offset: number): number {
    return offset - this.#lineStart(offset);
  }

  #entries(collection: Collection): readonly Entry[] {
    const { srcToken } = collection;
    if (srcToken === undefined || !('items' in srcToken)) throw new Unsupported('a map in a list has no braces');
    const entries: Entry[] = [];
    for (const [index, item] of collection.items.entries()) {
      const { start: signs = [], sep = [] } = srcToken.items[index] ?? {};
      if (signs.some(({ type }) => type === 'explicit-key-ind')) throw new Unsupported('a key is written with "?"');
      const sign = [...signs, ...sep].find(({ type }) => type === 'seq-item-ind' || type === 'map-value-ind');
      const lead = sign && sign.offset + 1;
      const head = (isPair(item) ? item.key : item) as Node;
      const node = (isPair(item) ? item.value : item) as Node | null;
      const value = isScalar(node) && node.range?.[0] === node.range?.[1] ? undefined : (node ?? undefined);
      const start = isPair(item) || sign === undefined ? startOf(head) : sign.offset;
      const end = value === undefined ? (lead ?? head.range?.[1] ?? 0) : this.#endOf(value);
      const isBehind = this.#text.slice(this.#lineStart(start), start).trim() !== '';
      const above = entries.at(-1)?.below ?? 0;
      const from = isBehind ? start : this.#ownStart(start, above);
      entries.push({ value, start, lead, end, from, below: this.#below(end, this.#column(start)), isBehind });
    }
    return entries;
  }

  #endOf(node: Node): number {
    const [start = 0, end = 0] = node.range ?? [];
    if (isCollection(node) && node.flow !== true) return this.#entries(node as Collection).at(-1)?.end ?? end;
    if (!isBlockScalar(node)) return end;
    const written = this.#text.slice(start, end);
    // Blank lines below a block are part of it only with the indicator "+".
    return /^.-?\d?\+/.test(written) ? end - 1 : start + written.trimEnd().length;
  }

  /** The offset of the first line of an entry's own comments. Comments at the top of the file are about the file. */
  #ownStart(start: number, above: number): number {
    const line = this.#lineStart(start);
    let from = line;
    for (let at = line; at > above; ) {
      at = this.#lineStart(at - 1);
      const [indent] = /^ *(?=#)/.exec(this.#text.slice(at, from)) ?? [];
      if (indent === undefined) break;
      from = at;
      if (at === 0 || this.#text.slice(this.#lineStart(at - 1), at).startsWith('---')) return line;
    }
    return from;
  }

  /** The offset of the line below an entry, and below the comments there that are indented deeper. */
  #below(end: number, column: number): number {
    let below = this.#nextLine(end);
    const comment = /(?:[ \t]*\r?\n)*( *)#[^\n]*\n/y;
    for (;;) {
      comment.lastIndex = below;
      const found = comment.exec(this.#text);
      if (found === null || (found[1] as string).length <= column) return below;
      below = comment.lastIndex;
    }
  }

  #collection(collection: Collection, change: Change): void {
    const entries = this.#entries(collection);
    const plan = isMap(change.old)
      ? planOfMap(collection as YAMLMap, change as Change<JsonMap>)
      : planOfList(change as Change<readonly Json[]>);
    for (const [index, change] of plan.kept) this.#value(entries[index] as Entry, change, collection);
    if (collection.flow === true) this.#flowEntries(collection, entries, plan);
    else this.#blockEntries(collection, entries, plan);
  }

  /** Changes the value of an entry. */
  #value(entry: Entry, { old, wanted }: Change, parent: Collection): void {
    const { value: node } = entry;
    if (isSame(old, wanted)) return;
    const isSameKind = (isMapNode(node) && isMap(old) && isMap(wanted)) || (isSeq(node) && Array.isArray(wanted));
    const [size, left] = [old, wanted].map((value) => Object.keys(value ?? {}).length);
    if (isSameKind && size !== 0 && left !== 0) this.#collection(node as Collection, { old, wanted });
    else if (parent.flow === true) this.#flowValue(entry, wanted, parent);
    else
      this.#put(entry, printEntry(wanted, { ...this.#options, like: node, key: isMapNode(parent) ? 'k' : undefined }));
  }

  /** Writes a printed value in the place of the present one: on the line of the key or dash, and on lines below it. */
  #put({ value: node, start: at, lead, end }: Entry, [first = '', ...lines]: readonly string[]): void {
    if (lead === undefined) throw new Unsupported('there is no colon behind the key');
    const head = first.replace(/^k?[:-] */, '');
    const body = lines.map((line) => `${line && ' '.repeat(this.#column(at)) + line}\n`).join('');
    const start = node?.range?.[0] ?? lead;
    const padded = head === '' ? '' : ` ${head}`;
    if (isCollection(node) && node.flow !== true) {
      const entries = this.#entries(node as Collection);
      this.#blockEntries(node as Collection, entries, { kept: new Map(), added: [] });
      this.#replace(lead, lead, padded);
      const [first] = entries;
      this.#replace(first?.isBehind ? first.below : this.#nextLine(lead), undefined, body);
    } else if (isBlockScalar(node)) {
      const header = this.#text.slice(start).search(/[^|>+\d-]/);
      const below = this.#nextLine(start);
      this.#replace(lead, start + header, padded);
      this.#replace(below, Math.max(below, this.#nextLine(end)), body);
    } else if (this.#nextLine(start) !== this.#nextLine(lead) && body !== '') {
      throw new Unsupported('a value is on the line below its key');
    } else {
      if (isCollection(node)) this.#requireNoComment(start, end);
      if (body === '' && node !== undefined) this.#replace(start, end, head);
      else this.#replace(lead, end, padded);
      this.#replace(this.#nextLine(end), undefined, body);
    }
  }

  #blockEntries(collection: Collection, entries: readonly Entry[], { kept, added }: Plan): void {
    const first = entries[0] as Entry;
    const next = entries.find((_entry, index) => kept.has(index));
    const pad = ' '.repeat(this.#column(first.start));
    const like = isSeq(collection) ? entries.at(-1)?.value : undefined;
    if (collection === this.#root && kept.size + added.length === 0) this.#replace(first.from, undefined, '{}\n');
    const news = new Map<Entry | undefined, string>();
    for (const { follows, key, value } of added) {
      const entry = next === undefined && first.isBehind ? undefined : entries[follows];
      const lines = printEntry(value, { ...this.#options, key, like });
      news.set(entry, (news.get(entry) ?? '') + lines.map((line) => `${line && pad + line}\n`).join(''));
    }
    for (const [entry, text] of news) {
      if (entry !== undefined || !first.isBehind) this.#replace(entry?.below ?? first.from, undefined, text);
      else if (next !== undefined) this.#replace(first.start, undefined, `${text.trim()}\n${pad}`);
    }
    for (const [index, entry] of entries.entries()) {
      if (kept.has(index)) continue;
      if (!entry.isBehind) this.#replace(entry.from, entry.below);
      else this.#removeBehind(entry, entries[index + 1] === next ? next : undefined, news.get(undefined));
    }
  }

  /**
   * Removes an entry from the line of its dash. The next one takes its place, unless comments or blank lines are
   * between.
   */
  #removeBehind({ start, below }: Entry, next: Entry | undefined, news = ''): void {
    const blanks = / *$/.exec(this.#text.slice(this.#lineStart(start), start)) as RegExpExecArray;
    if (next !== undefined && next.from === this.#lineStart(next.start) && next.from === below) {
      this.#replace(start, next.start);
    } else {
      this.#replace(
        start - blanks[0].length,
        below - this.#eol.length,
        next === undefined && news !== '' ? ` ${news.trim()}` : '',
      );
    }
  }

  #flowValue({ value: node, lead, end }: Entry, wanted: Json, parent: Collection): void {
    const text = this.#flowText(wanted, parent, node);
    if (node !== undefined) this.#requireNoComment(node.range?.[0], end);
    if (node !== undefined) this.#replace(node.range?.[0], end, text);
    else if (lead === undefined) this.#replace(end, undefined, `: ${text}`);
    else this.#replace(lead, undefined, ` ${text}`);
  }

  #flowText(value: Json, parent: Collection, like?: Node): string {
    const [first] = parent.items;
    const sample = isPair(first) ? first.key : first;
    const isJson = isScalar(sample) && sample.type === Scalar.QUOTE_DOUBLE;
    return isJson ? flowText(value) : printFlow(value, { ...this.#options, like });
  }

  #requireNoComment(from = 0, to = from): void {
    const isLost = /(?:^|\s)#|\n[ \t\r]*\n/.test(this.#text.slice(from, to));
    if (isLost) throw new Unsupported('a comment or blank line is among values in brackets');
  }

  #flowEntries(collection: Collection, entries: readonly Entry[], { kept, added }: Plan): void {
    const [first, last] = [entries[0], entries.at(-1)] as [Entry, Entry];
    const lastKept = Math.max(...kept.keys());
    const gap = last.isBehind ? ', ' : `,\n${' '.repeat(this.#column(last.start))}`;
    const texts = added.map(({ key, value }) => {
      const text = this.#flowText(value, collection, isSeq(collection) ? last.value : undefined);
      return key === undefined ? text : `${this.#flowText(key, collection)}: ${text}`;
    });
    if (kept.size === 0) {
      this.#requireNoComment(first.from, collection.range?.[1]);
      this.#replace(first.start, last.end, texts.join(gap));
      return;
    }
    for (const [index, entry] of entries.entries()) {
      if (kept.has(index)) continue;
      const before = index > lastKept ? entries[index - 1] : undefined;
      this.#requireNoComment(before?.end ?? entry.from, before ? collection.range?.[1] : entries[index + 1]?.start);
      this.#replace(before?.end ?? entry.start, before ? entry.end : entries[index + 1]?.start);
    }
    for (const [index, { follows }] of added.entries()) {
      const [text = '', next] = [texts[index], entries[follows + 1]];
      if (follows === lastKept || next === undefined) {
        this.#requireNoComment(last.end, collection.range?.[1]);
        this.#replace(last.end, undefined, `${gap}${text}`);
      } else if (next.isBehind) this.#replace(next.start, undefined, `${text}, `);
      else this.#replace(next.from, undefined, `${' '.repeat(this.#column(next.start))}${text},\n`);
    }
  }
}

function isBlockScalar(node: unknown): boolean {
  return isScalar(node) && (node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED);
}

function planOfMap(map: YAMLMap, { old, wanted }: Change<JsonMap>): Plan {
  const names = map.items.map(({ key }) => nameOf(key));
  const kept = new Map<number, Change>();
  for (const [index, name] of names.entries()) {
    const [from, to] = [fieldOf(old, name), fieldOf(wanted, name)];
    if (from !== undefined && to !== undefined) kept.set(index, { old: from, wanted: to });
  }
  const follows = names.length - 1;
  const added = Object.entries(wanted).flatMap(([key, value]) =>
    Object.hasOwn(old, key) ? [] : [{ follows, key, value }],
  );
  return { kept, added };
}

/** Returns the offset of the first character of a node that was parsed. */
function startOf(node: Node): number {
  invariant(node.range != null, 'a node that was parsed has a range');
  return node.range[0];
}

/** Returns a key as js-yaml reads it: a number or null as it is written. */
function nameOf(key: unknown): string {
  if (!isScalar(key)) return '';
  return typeof key.value === 'string' ? key.value : String(key.source);
}

function planOfList({ old, wanted }: Change<readonly Json[]>): Plan {
  const kept = new Map<number, Change>();
  const added: Plan['added'][number][] = [];
  let follows = -1;
  for (const [to, from] of matchItems(old, wanted).entries()) {
    const [before, after] = [old[from], wanted[to] as Json];
    if (before === undefined) added.push({ follows, value: after });
    else kept.set(from, { old: before, wanted: after });
    if (before !== undefined) follows = from;
  }
  return { kept, added };
}

// Changes a YAML file in place: compares its value with the wanted one, and changes the smallest parts that differ; every
// other byte stays. It parses no values: the caller passes the parsed file and the parser, which also verifies the result.
import { fieldOf, isMap, isSame, type Json, type JsonMap } from '../model/json.ts';
import { isError, type Problem } from '../model/problem.ts';
import { alignLists } from './align-lists.ts';
import { changeBlock, emptyBlock } from './edit-block.ts';
import { changeFlow, emptyFlow } from './edit-flow.ts';
import { replaceValue } from './replace-value.ts';
import { applySplices, type EntrySite, type NewEntry, refuse, type TextEdit } from './text-edit.ts';
import { indentsOf } from './write-like.ts';
import { type CollectionNode, type LayoutNode, lineNumber, readLayout } from './yaml-layout.ts';

/** A parsed text; `value` is undefined where nothing could be read. */
interface Parsed {
  readonly value: Json | undefined;
  readonly problems: readonly Problem[];
}

/** A file with its text, byte order mark included, and what a parser reads in it. */
interface ParsedFile<Document extends Parsed> {
  readonly text: string;
  readonly document: Document;
}

/** The file after the edit, or a reason for the person who has to edit it by hand. */
type Edited<Document extends Parsed> =
  | { readonly ok: true; readonly file: ParsedFile<Document> }
  | { readonly ok: false; readonly reason: string };

type EditedText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

const BYTE_ORDER_MARK = '\uFEFF';

/** Deeper values are refused before any recursion: no file can hold them. */
const DEPTH_MAX = 64;

const OTHERS_CHANGE = 'the way the file is written, other values in it would change, too';

/**
 * Returns the file changed so that it reads as `wanted`. Lines of keys and items that stay the same are not touched:
 * comments, blank lines, quotes, order, indentation, line ends, a byte order mark, a missing last line end.
 *
 * A new key comes last in its map, indented like it; items of a list are matched and changed one by one. What goes takes
 * its trailing comment along, the comment lines directly above it that begin in the same column (not those at the top of
 * the file), and those below it that are indented further. A changed text keeps its quotes where they still fit.
 * Collections in brackets stay in brackets; empty ones become blocks when they are filled. Where all that is not possible,
 * the answer says why a person has to edit the file.
 *
 * `parse` is called once, with the new text, and the edit is refused unless its document has the value `wanted`.
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
  const mark = file.text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const content = file.text.slice(mark.length);
  const refusal = unusual(content) ?? tooDeep(wanted);
  if (refusal !== undefined) return { ok: false, reason: refusal };
  const edited = editContent(content, old, wanted);
  if (!edited.ok) return edited;
  const text = mark + edited.text;
  return proven({ text, document: parse(text) }, wanted);
}

/** Returns the file if it reads as it should. */
function proven<Document extends Parsed>(file: ParsedFile<Document>, wanted: JsonMap): Edited<Document> {
  const fault = faultOf(file.document);
  if (fault !== undefined) return { ok: false, reason: `${OTHERS_CHANGE}: ${fault}` };
  return isSame(file.document.value, wanted) ? { ok: true, file } : { ok: false, reason: OTHERS_CHANGE };
}

function faultOf({ problems }: Parsed): string | undefined {
  const first = problems.find(isError);
  return first === undefined ? undefined : `line ${first.line}: ${first.message}`;
}

function unusual(content: string): string | undefined {
  const at = content.search(/\r(?!\n)/);
  return at === -1 ? undefined : `line ${lineNumber(content, at)}: a carriage return stands without a line feed`;
}

function tooDeep(value: Json, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === DEPTH_MAX) return `a file holds no more than ${DEPTH_MAX} maps and lists inside one another`;
  return Object.values(value)
    .map((below) => tooDeep(below, depth + 1))
    .find((found) => found !== undefined);
}

function editContent(content: string, old: JsonMap, wanted: JsonMap): EditedText {
  const eol = /\r?\n/.exec(content)?.[0] ?? '\n';
  const isOpen = !content.endsWith('\n');
  const text = isOpen ? content + eol : content;
  const layout = readLayout(text);
  if (layout === null || typeof layout === 'string') return { ok: false, reason: layout ?? OTHERS_CHANGE };
  const edit: TextEdit = { text, eol, indents: indentsOf(text, layout), splices: [], refusals: [] };
  const { start, end } = layout;
  changeValue(edit, { parent: null, entry: { key: '', start, end, slot: null, node: layout } }, { old, wanted });
  const [refusal] = edit.refusals;
  if (refusal !== undefined) return { ok: false, reason: refusal };
  const edited = applySplices(text, edit.splices);
  return { ok: true, text: isOpen ? edited.slice(0, -eol.length) : edited };
}

/** An entry that stays, with its value before and after. */
interface KeptEntry {
  readonly index: number;
  readonly old: Json;
  readonly wanted: Json;
}

/** Notes how the value at `site`, which is `old`, becomes `wanted`. */
function changeValue(edit: TextEdit, site: EntrySite, { old, wanted }: Omit<KeptEntry, 'index'>): void {
  if (isSame(old, wanted)) return;
  const { node } = site.entry;
  if (node !== null && !isReadAlike(node, old))
    refuse(edit, node.start, 'it is not clear how the keys here are to be read');
  if (node?.kind === 'map' && node.entries.length > 0 && isMap(old) && isMap(wanted)) {
    changeMap(edit, site, { node, old, wanted });
  } else if (node?.kind === 'list' && node.entries.length > 0 && Array.isArray(old) && Array.isArray(wanted)) {
    changeList(edit, site, { node, old, wanted });
  } else replaceValue(edit, site, wanted);
}

/** Tells that the places found in the text are those of the value that was read from it: these are two parsers. */
function isReadAlike(node: LayoutNode, value: Json): boolean {
  if (node.kind === 'scalar') return typeof value !== 'object' || value === null;
  if (node.kind === 'list') return Array.isArray(value) && value.length === node.entries.length;
  const keys = new Set(node.entries.map(({ key }) => key));
  return isMap(value) && keys.size === node.entries.length && isSame([...keys].sort(), Object.keys(value).sort());
}

interface ValueChange<Value> {
  readonly node: CollectionNode;
  readonly old: Value;
  readonly wanted: Value;
}

function changeMap(edit: TextEdit, site: EntrySite, { node, old, wanted }: ValueChange<JsonMap>): void {
  const kept = node.entries.flatMap(({ key }, index): KeptEntry[] => {
    const [before, after] = [fieldOf(old, key), fieldOf(wanted, key)];
    return before === undefined || after === undefined ? [] : [{ index, old: before, wanted: after }];
  });
  const last = kept.at(-1)?.index ?? -1;
  const added = Object.entries(wanted)
    .filter(([key]) => !Object.hasOwn(old, key))
    .map(([key, value]) => ({ after: last, key, value }));
  changeEntries(edit, site, { node, wanted, kept, added });
}

function changeList(edit: TextEdit, site: EntrySite, { node, old, wanted }: ValueChange<readonly Json[]>): void {
  const aligned = alignLists(old, wanted);
  const kept: KeptEntry[] = [];
  const added: NewEntry[] = [];
  for (const [position, value] of wanted.entries()) {
    const index = aligned[position] ?? -1;
    const before = old[index];
    if (before === undefined) added.push({ after: kept.at(-1)?.index ?? -1, key: null, value });
    else kept.push({ index, old: before, wanted: value });
  }
  changeEntries(edit, site, { node, wanted, kept, added });
}

interface Changes {
  readonly node: CollectionNode;
  readonly wanted: Json;
  readonly kept: readonly KeptEntry[];
  readonly added: readonly NewEntry[];
}

function changeEntries(edit: TextEdit, site: EntrySite, { node, wanted, kept, added }: Changes): void {
  const { slot } = site.entry;
  if (kept.length === 0 && added.length > 0) replaceValue(edit, site, wanted);
  else if (kept.length === 0 && node.isFlow) emptyFlow(edit, node);
  else if (kept.length === 0) emptyBlock(edit, { node, slot });
  else {
    const removed = new Set(node.entries.keys());
    for (const { index, old, wanted: value } of kept) {
      removed.delete(index);
      const entry = node.entries[index];
      if (entry !== undefined) changeValue(edit, { parent: node, entry }, { old, wanted: value });
    }
    if (removed.size === 0 && added.length === 0) return;
    if (node.isFlow) changeFlow(edit, node, { removed, added });
    else changeBlock(edit, { node, slot }, { removed, added });
  }
}

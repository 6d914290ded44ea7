// Reads YAML and JSON of other tools: YAML like Ruby, with the line of each value. Resolves anchors, aliases and merge
// keys. A value that a record cannot contain keeps its place and a reason.
import { isAlias, isCollection, isMap as isMapNode, isScalar, LineCounter, type Node, parseAllDocuments } from 'yaml';
import { invariant } from '../base/invariant.ts';
import { emptyMap, isExact, isMap, type Json } from '../model/json.ts';

/** A line of a source; 0 in JSON, and line 1 for a file as a whole. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
}

/** Returns a place in the form for messages. */
export function placeText({ file, line }: SourceLine): string {
  return line === 0 ? file : `${file}:${line}`;
}

/** The files of a source, by the paths in messages. */
export type SourceFiles = ReadonlyMap<string, string>;

/** A value of a source. An alias is the same value as its anchor, so one value may be at several places. */
export type Located = LocatedScalar | LocatedList | LocatedMap;

/** A text, number, boolean or null. */
export interface LocatedScalar extends SourceLine {
  readonly kind: 'scalar';
  readonly value: null | boolean | number | string;
  /** Why it cannot be imported. */
  readonly fault?: string;
}

/** A list of values. */
export interface LocatedList extends SourceLine {
  readonly kind: 'list';
  readonly items: readonly Located[];
}

/** A map. The last value of a repeated key wins, like in the tools. */
export interface LocatedMap extends SourceLine {
  readonly kind: 'map';
  readonly entries: ReadonlyMap<string, Located>;
}

/** The parser needs 500 times the memory of a text of many small values. */
const YAML_LENGTH_MAX = 4 * 1024 * 1024;
/** The limit of values inside one value, with aliases resolved: a few lines can expand to more than any memory. */
const VALUES_MAX = 200_000;
/** The limit of values of a whole file. */
const FILE_VALUES_MAX = 2_000_000;
const DEPTH_MAX = 64;
/** The limit of merged entries: each merge key copies the merged map. */
const MERGED_MAX = 100_000;

/** Returns the first document of a file; a scalar with a fault if it cannot be read. An empty file is null. */
export function parseForeign(file: string, text: string): Located {
  if (/\.(?:json|tfstate)$/.test(file)) return parseForeignJson({ file, line: 0 }, text);
  if (text.length > YAML_LENGTH_MAX)
    return faultAt({ file, line: 1 }, `it is longer than ${YAML_LENGTH_MAX} characters`);
  const counter = new LineCounter();
  try {
    const documents = parseAllDocuments(text, { schema: 'failsafe', uniqueKeys: false, lineCounter: counter });
    const [document] = Array.isArray(documents) ? documents : [];
    const [error] = document?.errors ?? [];
    if (error !== undefined) {
      const reason = error.message.replace(/ at line .*/s, '');
      return faultAt({ file, line: counter.linePos(error.pos[0]).line }, `it is not YAML: ${reason}`);
    }
    const reader = { file, lineOf: (offset: number) => counter.linePos(offset).line, merged: 0, anchors: new Map() };
    return readNode(reader, document?.contents ?? null, { file, line: 1 });
  } catch (error) {
    if (error instanceof RangeError) return faultAt({ file, line: 1 }, 'it is nested too deeply');
    throw error;
  }
}

/** Returns the values of a JSON text, all at one place; a scalar with a fault if it is not JSON. */
function parseForeignJson(at: SourceLine, text: string): Located {
  try {
    return locatedJson(JSON.parse(text.replace(/^\uFEFF/, '')) as Json, at);
  } catch (error) {
    if (error instanceof SyntaxError) return faultAt(at, `it is not JSON: ${error.message}`);
    if (error instanceof RangeError) return faultAt(at, 'it is nested too deeply');
    throw error;
  }
}

/** Returns a value at a place. */
export function locatedJson(value: Json, at: SourceLine): Located {
  const { file, line } = at;
  if (Array.isArray(value)) return { kind: 'list', items: value.map((item) => locatedJson(item, at)), file, line };
  if (isMap(value)) {
    const entries = Object.entries(value).map(([key, one]) => [key, locatedJson(one, at)] as const);
    return { kind: 'map', entries: new Map(entries), file, line };
  }
  invariant(typeof value !== 'object' || value === null, 'a value is a scalar');
  if (typeof value === 'number' && !isExact(value)) return faultAt(at, 'a record cannot contain this number');
  return { kind: 'scalar', value, file, line };
}

/** Returns a value that cannot be imported. */
export function faultAt({ file, line }: SourceLine, fault: string): LocatedScalar {
  return { kind: 'scalar', value: null, fault, file, line };
}

/** Returns a text at a place. */
export function textAt(value: string, { file, line }: SourceLine): LocatedScalar {
  return { kind: 'scalar', value, file, line };
}

/** Returns the value of a key of a map, or undefined. */
export function entryOf(located: Located | undefined, key: string): Located | undefined {
  return located?.kind === 'map' ? located.entries.get(key) : undefined;
}

/** Returns a text, or a number or boolean as text; undefined for anything else. */
export function locatedText(located: Located | undefined): string | undefined {
  if (located?.kind !== 'scalar' || located.value === null) return undefined;
  return String(located.value);
}

/** Returns the items of a list, or another value as the only item. */
export function itemsOf(located: Located | undefined): readonly Located[] {
  if (located === undefined || (located.kind === 'scalar' && located.value === null)) return [];
  return located.kind === 'list' ? located.items : [located];
}

/**
 * Returns plain JSON with sorted keys, so that equal values have equal texts; otherwise the first fault inside, or that
 * the value is too large.
 */
export function plainJson(
  located: Located,
  valuesMax = VALUES_MAX,
): { readonly json: Json } | { readonly fault: string } {
  let count = 0;
  function convert(one: Located, depth: number): Json {
    count += 1;
    if (count > valuesMax || depth > DEPTH_MAX) throw new Unfit(TOO_LARGE);
    if (one.kind === 'list') return one.items.map((item) => convert(item, depth + 1));
    if (one.kind === 'scalar') {
      if (one.fault !== undefined) throw new Unfit(one.fault);
      return one.value;
    }
    const map = emptyMap();
    for (const key of [...one.entries.keys()].sort()) map[key] = convert(one.entries.get(key) ?? one, depth + 1);
    return map;
  }
  try {
    return { json: convert(located, 0) };
  } catch (error) {
    if (error instanceof Unfit) return { fault: error.message };
    throw error;
  }
}

const TOO_LARGE = 'it is too large';

/** Cached, because thousands of servers share a value. */
const counted = new WeakMap<Located, Located>();

/**
 * Returns the value of a key or of a whole file, or a fault if it is too large with aliases resolved. No other code
 * needs to count.
 */
export function bounded(located: Located, of: 'key' | 'file' = 'key'): Located {
  const known = counted.get(located);
  if (known !== undefined) return known;
  const plain = plainJson(located, of === 'key' ? VALUES_MAX : FILE_VALUES_MAX);
  const found = 'fault' in plain && plain.fault === TOO_LARGE ? faultAt(located, TOO_LARGE) : located;
  counted.set(located, found);
  return found;
}

class Unfit extends Error {
  override readonly name = 'Unfit';
}

interface Reader {
  readonly file: string;
  readonly lineOf: (offset: number) => number;
  merged: number;
  readonly anchors: Map<string, Located>;
}

/** Returns the value of a node; `at` is the place of its key, for an empty value. */
function readNode(reader: Reader, node: unknown, at: SourceLine): Located {
  if (isAlias(node)) {
    return reader.anchors.get(node.source) ?? faultAt(at, `the alias *${node.source} names nothing before it`);
  }
  if (!isScalar(node) && !isCollection(node)) return { kind: 'scalar', value: null, ...at };
  const value = readValue(reader, node, placeOf(reader, node, at));
  if (node.anchor !== undefined) reader.anchors.set(node.anchor, value);
  return value;
}

function placeOf({ file, lineOf }: Reader, node: unknown, at: SourceLine): SourceLine {
  const offset = (node as Node | null)?.range?.[0];
  return offset === undefined ? at : { file, line: lineOf(offset) };
}

const KNOWN_TAG = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$|^!$/;

function readValue(reader: Reader, node: Node, at: SourceLine): Located {
  if (node.tag !== undefined && !KNOWN_TAG.test(node.tag)) return faultAt(at, `the tag ${node.tag} is not supported`);
  if (isMapNode(node)) return readMap(reader, node.items, at);
  if (isCollection(node)) return { kind: 'list', items: node.items.map((item) => readNode(reader, item, at)), ...at };
  invariant(isScalar(node), 'a node is a scalar or a collection');
  const isText = node.type !== 'PLAIN' || node.tag?.endsWith(':str') === true || node.tag === '!';
  if (isText) return textAt(String(node.value ?? ''), at);
  const scalar = psychScalar(node.source ?? '');
  return 'fault' in scalar ? faultAt(at, scalar.fault) : { kind: 'scalar', value: scalar.value, ...at };
}

function readMap(reader: Reader, pairs: readonly { key: unknown; value: unknown }[], at: SourceLine): LocatedMap {
  const entries = new Map<string, Located>();
  const merged = new Map<string, Located>();
  for (const { key: node, value } of pairs) {
    const place = placeOf(reader, node, at);
    const key = readNode(reader, node, place);
    const isMerge = isScalar(node) && node.type === 'PLAIN' && node.source === '<<';
    if (isMerge) mergeInto(merged, readNode(reader, value, place), reader);
    else entries.set(locatedText(key) ?? JSON.stringify(null), readNode(reader, value, place));
  }
  return { kind: 'map', entries: merged.size === 0 ? entries : new Map([...merged, ...entries]), ...at };
}

/** The first of several merged maps wins, and the map's own keys win over all of them. */
function mergeInto(merged: Map<string, Located>, value: Located, reader: Reader): void {
  for (const map of itemsOf(value)) {
    if (map.kind !== 'map') continue;
    reader.merged += map.entries.size;
    if (reader.merged > MERGED_MAX) continue;
    for (const [key, one] of map.entries) if (!merged.has(key)) merged.set(key, one);
  }
}

/** The value of a scalar, or the reason why a record cannot contain it. */
type PsychScalar = { readonly value: null | boolean | number | string } | { readonly fault: string };

const WORDS: readonly (readonly [RegExp, null | boolean])[] = [
  [/^(?:~|null)$/i, null],
  [/^(?:yes|true|on)$/i, true],
  [/^(?:no|false|off)$/i, false],
];
/** A text for Psych, apart from the words above. */
const TEXT = /^[^\d.:-]?[\p{L}_\s!@#$%^&*(){}<>|/\\~;=]+|\n/u;
const DATE = /^\d{4}-(?:1[012]|0\d|\d)-(?:[12]\d|3[01]|0\d|\d)$/;
const TIME = /^-?\d{4}-\d{1,2}-\d{1,2}(?:[Tt]|\s+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:\s*(?:Z|[-+]\d{1,2}:?(?:\d\d)?))?$/;
const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d){1,2}(?:\.[\d_]*)?$/;
const FLOAT = /^[-+]?(?:\d[\d_,]*)?\.\d*(?:[eE][-+]\d+)?$/;
const INTEGER = /^([-+]?)(?:0b([01_,]+)|0x([\da-fA-F_,]+)|0([0-7_,]+)|(0|[1-9](?:\d|,\d|_\d)*))$/;

/**
 * Reads a plain scalar according to ScalarScanner of Psych, the YAML reader of Ruby and Puppet. For example, `12:30` is
 * 45000: hours and minutes in seconds.
 */
function psychScalar(text: string): PsychScalar {
  if (text === '') return { value: null };
  if (TEXT.test(text)) return { value: text.length > 5 ? text : wordOf(text) };
  if (TIME.test(text) || DATE.test(text)) return { fault: 'it is a date without quotes, which Puppet refuses' };
  if (/^[-+]?\.inf$|^\.nan$/i.test(text)) return { fault: 'a record cannot contain this number' };
  if (/^:./.test(text)) return { fault: 'it is a symbol of Ruby: write a text' };
  const value = numberOf(text);
  if (value === undefined) return { value: text };
  return isExact(value) ? { value } : { fault: 'a record cannot contain this number' };
}

function wordOf(text: string): null | boolean | string {
  const found = WORDS.find(([pattern]) => pattern.test(text));
  return found === undefined ? text : found[1];
}

function numberOf(text: string): number | undefined {
  const plain = text.replaceAll(/[,_]/g, '');
  if (BASE_60.test(text)) {
    const parts = plain.split(':').map(Number);
    return parts.reduce((sum, part, index) => sum + part * 60 ** Math.abs(index - 2), 0);
  }
  if (FLOAT.test(text)) return /^[-+]?\.$/.test(text) ? undefined : Number(plain.replace(/\.(?=[eE]|$)/, ''));
  const [, sign, ...digits] = INTEGER.exec(text) ?? [];
  const at = digits.findIndex((one) => one !== undefined);
  const size = Number.parseInt((digits[at] ?? '').replaceAll(/[,_]/g, ''), [2, 16, 8, 10][at] ?? 10);
  if (at === -1 || Number.isNaN(size)) return undefined;
  return sign === '-' ? -size : size;
}

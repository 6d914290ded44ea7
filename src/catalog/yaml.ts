// Reads the YAML of one file: its value as plain JSON, the faults, and the place of each value. It accepts only YAML
// that all readers understand in the same way: no anchors, aliases, merge keys or tags.
import {
  boolCoreTag,
  EVENT_ID,
  type Event,
  floatCoreTag,
  getScalarValue,
  intCoreTag,
  NOT_RESOLVED,
  nullCoreTag,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  YAMLException,
} from 'js-yaml';
import { invariant } from '../base/invariant.ts';
import { below, type Fault, lastStep, problemFrom } from '../model/entry.ts';
import { emptyMap, type Json, type JsonMap } from '../model/json.ts';
import { NAME_LENGTH_MAX } from '../model/names.ts';
import type { Place, Problem } from '../model/problem.ts';
import { decodeText } from './decode-text.ts';
import {
  anchorFault,
  complexKeyFault,
  duplicateKeyFault,
  EMPTY_FILE,
  numberFault,
  SECOND_DOCUMENT,
  stringFault,
  tagFault,
  tooManyValues,
  yamlKeyFault,
} from './yaml-rules.ts';
import { explainSyntax } from './yaml-syntax.ts';

/** A parsed YAML file. */
export interface YamlDocument {
  /** Null if the file is not text. */
  readonly text: string | null;
  /** Maps have no prototype. Undefined if nothing could be read. */
  readonly value: Json | undefined;
  /** The faults in the order of the text. If one is an error, `value` may lack parts of the file. */
  readonly problems: readonly Problem[];
  /** As in `Entry`. */
  readonly locate: (pointer: string, part?: 'key' | 'value') => Place;
  /** Returns a plain (unquoted) scalar as it is in the file; null if the pointer is to another value. */
  readonly writtenAt: (pointer: string) => string | null;
}

/** The offsets of a node, its text if it is a plain scalar, and its children. */
interface NodeSpot {
  readonly key: number;
  readonly value: number;
  readonly written: string | null;
  /** By key or index. Pointers would repeat each key for each node below it. */
  readonly inside: Map<string, NodeSpot> | undefined;
}

interface EventReader {
  readonly text: string;
  readonly events: readonly Event[];
  next: number;
  /** The offset of the last node with any text: the place of an empty value. */
  lastAt: number;
  readonly placeOf: PlaceOf;
  readonly report: (offset: number, pointer: string, fault: Fault) => void;
  /** The map or list that is being read; undefined if no spots are needed. */
  around: NodeSpot | undefined;
}

/** The key or index of a node in its map or list. */
interface NodeStep {
  readonly name: string;
  /** The offset of the key; undefined in a list. */
  readonly at?: number;
}

const DEPTH_MAX = 64;
/**
 * Keys, values, lists and maps of one file. Half a million fit into a megabyte and would take seconds in every stage.
 */
const EVENTS_MAX = 50_000;

/** The tags of plain scalars in the core schema of YAML 1.2, in the order in which they are tried. */
const CORE_TAGS = [nullCoreTag, boolCoreTag, intCoreTag, floatCoreTag];
/** The parser reads a number that is too large as a text. This pattern finds such numbers. */
const NUMBER = /^(?:0o[0-7]+|0x[\da-fA-F]+|[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)$/;

/** Reads the bytes of a file, or a text that was decoded before. Never throws because of the content. */
export function parseYaml(file: string, source: Uint8Array | string): YamlDocument {
  const decoded = typeof source === 'string' ? { text: source.replace(/^\uFEFF/, '') } : decodeText(source);
  if ('fault' in decoded) return unreadable(problemFrom(decoded.fault, { line: 1, column: 1, file, pointer: '' }));
  return parseText(file, decoded.text);
}

function parseText(file: string, text: string): YamlDocument {
  const placeOf = indexLines(text);
  const problems: Problem[] = [];
  function report(offset: number, pointer: string, fault: Fault): void {
    problems.push(problemFrom(fault, { ...placeOf(offset), file, pointer }));
  }
  const value = readDocument({ text, placeOf, report, around: undefined });
  let root: NodeSpot | undefined;
  /** Returns the spot of a pointer, or of its nearest ancestor if the pointer has none. */
  function nearest(pointer: string): { readonly spot: NodeSpot; readonly isThere: boolean } {
    root ??= readSpots(text, placeOf);
    let spot = root;
    for (const step of pointer.split('/').slice(1)) {
      const next = spot.inside?.get(lastStep(step));
      if (next === undefined) return { spot, isThere: false };
      spot = next;
    }
    return { spot, isThere: true };
  }
  return {
    text,
    value,
    problems,
    writtenAt(pointer) {
      const { spot, isThere } = nearest(pointer);
      return isThere ? spot.written : null;
    },
    locate: (pointer, part = 'value') => placeOf(nearest(pointer).spot[part]),
  };
}

function unreadable(problem: Problem): YamlDocument {
  return {
    text: null,
    value: undefined,
    problems: [problem],
    locate: () => ({ line: 1, column: 1 }),
    writtenAt: () => null,
  };
}

/** Returns the root's spot. Runs at the first call of `locate`, because most files need no places. */
function readSpots(text: string, placeOf: PlaceOf): NodeSpot {
  const around: NodeSpot = { key: 0, value: 0, written: null, inside: new Map() };
  readDocument({ text, placeOf, report: () => undefined, around });
  return around.inside?.get('') ?? around;
}

function readDocument(input: Omit<EventReader, 'events' | 'next' | 'lastAt'>): Json | undefined {
  const events = readEvents(input);
  if (events === undefined) return undefined;
  if (isEmpty(events)) {
    input.report(0, '', EMPTY_FILE);
    return undefined;
  }
  const reader: EventReader = { ...input, events, next: 1, lastAt: 0 };
  const value = readNode(reader, '');
  // The end of the document follows; anything after that is another document.
  if (reader.next + 1 < events.length) reader.report(secondDocumentAt(reader), '', SECOND_DOCUMENT);
  return value;
}

function readEvents({ text, report }: Pick<EventReader, 'text' | 'report'>): readonly Event[] | undefined {
  try {
    const events = parseEvents(text, { maxDepth: DEPTH_MAX });
    if (events.length <= EVENTS_MAX) return events;
    report(0, '', tooManyValues(EVENTS_MAX));
    return undefined;
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { offset, fault } = explainSyntax(text, error.mark?.position ?? 0, error.reason);
    report(offset, '', fault);
    return undefined;
  }
}

/** Returns true for a stream without a document, or with an empty one, such as a file of comments only. */
function isEmpty(events: readonly Event[]): boolean {
  const root = events[1];
  return root === undefined || (events.length <= 3 && root.type === EVENT_ID.SCALAR && root.valueStart === -1);
}

function secondDocumentAt(reader: EventReader): number {
  const first = reader.events[0];
  const markers = [...reader.text.matchAll(/(?<=^|[\r\n])---(?=\s|$)/g)].map(({ index }) => index);
  const marker = first?.type === EVENT_ID.DOCUMENT && first.explicitStart ? markers[1] : markers[0];
  const root = reader.events[reader.next + 2];
  invariant(root !== undefined, 'js-yaml gives every document a root');
  return marker ?? startOf(reader, root);
}

function readNode(reader: EventReader, pointer: string, { name, at: keyAt }: NodeStep = { name: '' }): Json {
  const event = reader.events[reader.next++];
  invariant(event !== undefined, 'js-yaml closes every node');
  const at = startOf(reader, event);
  refuseProperties(reader, event, pointer);
  const { around } = reader;
  if (around !== undefined) {
    const inside = event.type === EVENT_ID.SCALAR ? undefined : new Map();
    reader.around = { key: keyAt ?? at, value: at, written: writtenText(reader.text, event), inside };
    around.inside?.set(name, reader.around);
  }
  const value = readValue(reader, event, pointer);
  reader.around = around;
  return value;
}

function readValue(reader: EventReader, event: Event, pointer: string): Json {
  if (event.type === EVENT_ID.MAPPING) return readMap(reader, pointer);
  if (event.type === EVENT_ID.SEQUENCE) return readList(reader, pointer);
  if (event.type === EVENT_ID.SCALAR) return readScalar(reader, event, pointer);
  return null;
}

function readList(reader: EventReader, pointer: string): readonly Json[] {
  const items: Json[] = [];
  while (!isAtEnd(reader)) items.push(readNode(reader, below(pointer, items.length), { name: String(items.length) }));
  reader.next++;
  return items;
}

function readMap(reader: EventReader, pointer: string): JsonMap {
  const map = emptyMap();
  const keys = new Map<string, number>();
  while (!isAtEnd(reader)) {
    const { key, at } = readKey(reader, pointer, keys);
    // The value of a refused key is skipped, so that one mistake gives one message.
    if (key === undefined) skipNode(reader);
    else map[key] = readNode(reader, below(pointer, key), { name: key, at });
  }
  reader.next++;
  return map;
}

/** Reads the next key and adds it to `known`. `key` is undefined if the key was refused. */
function readKey(
  reader: EventReader,
  pointer: string,
  known: Map<string, number>,
): { key: string | undefined; at: number } {
  const event = reader.events[reader.next];
  invariant(event !== undefined, 'js-yaml closes every map');
  const at = startOf(reader, event);
  skipNode(reader);
  if (event.type !== EVENT_ID.SCALAR) {
    reader.report(at, pointer, complexKeyFault(reader.text.charAt(at)));
    return { key: undefined, at };
  }
  refuseProperties(reader, event, pointer);
  const key = getScalarValue(reader.text, event);
  const first = known.get(key);
  const fault =
    first === undefined
      ? yamlKeyFault(key, event.style === SCALAR_STYLE.PLAIN)
      : duplicateKeyFault(key, reader.placeOf(first).line);
  if (fault === undefined) known.set(key, at);
  // A key that is too long is not repeated in the pointer.
  else reader.report(at, key.length > NAME_LENGTH_MAX ? pointer : below(pointer, key), fault);
  return { key: fault === undefined ? key : undefined, at };
}

function readScalar(reader: EventReader, event: ScalarEvent, pointer: string): Json {
  const text = getScalarValue(reader.text, event);
  const value = event.style === SCALAR_STYLE.PLAIN ? plainValue(text) : text;
  const fault = typeof value === 'number' ? numberFault(text, value) : undefined;
  const refused = fault ?? (typeof value === 'string' ? stringFault(value) : undefined);
  if (refused !== undefined) reader.report(reader.lastAt, pointer, refused);
  return value;
}

function plainValue(text: string): Json {
  for (const tag of CORE_TAGS) {
    const value = tag.resolve(text, false, tag.tagName);
    if (value !== NOT_RESOLVED) return value;
  }
  return NUMBER.test(text) ? Number.POSITIVE_INFINITY : text;
}

/** Reports anchors, aliases and tags. */
function refuseProperties(reader: EventReader, event: Event, pointer: string): void {
  if (event.type === EVENT_ID.DOCUMENT || event.type === EVENT_ID.POP) return;
  if (event.anchorStart !== -1) {
    const at = event.anchorStart - 1;
    reader.report(at, pointer, anchorFault(reader.text.slice(at, event.anchorEnd)));
  }
  if (event.type !== EVENT_ID.ALIAS && event.tagStart !== -1) {
    reader.report(event.tagStart, pointer, tagFault(reader.text.slice(event.tagStart, event.tagEnd)));
  }
}

function skipNode(reader: EventReader): void {
  let open = 0;
  do {
    const type = reader.events[reader.next++]?.type;
    if (type === EVENT_ID.MAPPING || type === EVENT_ID.SEQUENCE) open++;
    if (type === EVENT_ID.POP) open--;
  } while (open > 0);
}

function isAtEnd(reader: EventReader): boolean {
  return reader.events[reader.next]?.type === EVENT_ID.POP;
}

/** Returns the offset of a node, and stores it in `lastAt`. */
function startOf(reader: EventReader, event: Event): number {
  reader.lastAt = findOffset(reader.text, event) ?? reader.lastAt;
  return reader.lastAt;
}

/** Returns the offset of a node's text, including its quotes; undefined for an empty value. */
function findOffset(text: string, event: Event): number | undefined {
  if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE) return event.start;
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart - 1;
  if (event.type !== EVENT_ID.SCALAR || event.valueStart === -1) return undefined;
  if (event.style === SCALAR_STYLE.PLAIN) return event.valueStart;
  if (event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED) {
    return event.valueStart - 1;
  }
  // A block scalar is reported at the first character of its text, not at its "|" or ">".
  const content = text.slice(event.valueStart, event.valueEnd);
  return event.valueStart + Math.max(0, content.search(/\S/));
}

function writtenText(text: string, event: Event): string | null {
  if (event.type !== EVENT_ID.SCALAR || event.style !== SCALAR_STYLE.PLAIN || event.valueStart === -1) return null;
  return text.slice(event.valueStart, event.valueEnd);
}

/** Returns the place of an offset: line and column count from 1, columns in UTF-16 units. */
type PlaceOf = (offset: number) => Place;

/** Returns a function that finds places in `text`. As in YAML, lines end at LF, CR LF, or CR. The text is read once. */
function indexLines(text: string): PlaceOf {
  let starts: readonly number[] | undefined;
  return (offset) => {
    starts ??= lineStarts(text);
    const line = findLine(starts, offset);
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (const { index, 0: end } of text.matchAll(/\r\n|\n|\r/g)) starts.push(index + end.length);
  return starts;
}

/** Returns the last line that begins at or before `offset`, counted from 0. */
function findLine(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Reads YAML and JSON of other tools: values with the file and line of each. Anchors, aliases and merge keys are resolved; what
// no record can hold keeps its place and a reason.

import { invariant } from '../base/invariant.ts';
import { type ForeignEvent, foreignEvents } from '../catalog/yaml.ts';
import { emptyMap, isExact, type Json } from '../model/json.ts';

/** A line of a source; line 1 where the file as a whole is meant. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
}

/** The files of a source, by their paths as they are shown. */
export type SourceFiles = ReadonlyMap<string, string>;

/** A value of a source. An alias is the value that it names, so that a value may stand at several places. */
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

/** A map. Of a key that stands there twice the last counts, as for the tools. */
export interface LocatedMap extends SourceLine {
  readonly kind: 'map';
  readonly entries: ReadonlyMap<string, Located>;
}

/** Keys, values, lists and maps of one file. */
const EVENTS_MAX = 2_000_000;
/** Values that one value holds, aliases followed: a file of few lines can name more than any machine holds. */
const VALUES_MAX = 200_000;
/** Lines whose indentation is repaired. */
const INDENTED_MAX = 100;
const DEPTH_MAX = 64;
/** More merge keys are no configuration: each copies what it merges. */
const MERGED_MAX = 100_000;

const VAULT = /^!vault(?:-encrypted)?$/;

interface Reader {
  readonly file: string;
  readonly events: readonly ForeignEvent[];
  next: number;
  merged: number;
  readonly anchors: Map<string, Located>;
}

/** Returns the first document of a file; a scalar with a fault where it cannot be read. An empty file is null. */
export function parseForeign(file: string, text: string): Located {
  const options = { isJson: /\.(?:json|tfstate)$/.test(file), eventsMax: EVENTS_MAX };
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  let events = foreignEvents(lines.join('\n'), options);
  // Ruby and Python take what stands in brackets at any column; blanks before it change nothing.
  for (let tries = 0; 'reason' in events && events.reason.includes('indentation') && tries < INDENTED_MAX; tries++) {
    lines[events.line - 1] = `${' '.repeat(DEPTH_MAX)}${lines[events.line - 1]}`;
    events = foreignEvents(lines.join('\n'), options);
  }
  if ('reason' in events) return faultAt({ file, line: events.line }, events.reason);
  if (events.length < 2) return { kind: 'scalar', value: null, file, line: 1 };
  return readValue({ file, events, next: 1, merged: 0, anchors: new Map() });
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

/** Returns the items of a list; of anything else that is there, that alone. */
export function itemsOf(located: Located | undefined): readonly Located[] {
  if (located === undefined || (located.kind === 'scalar' && located.value === null)) return [];
  return located.kind === 'list' ? located.items : [located];
}

/** Returns plain JSON, keys sorted so that equal values are written alike, or the first fault inside, or that it is too large. */
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

/** Thousands of servers share a value; it is counted once. */
const counted = new WeakMap<Located, Located>();

/** Returns the value of a key, or a whole file, or a fault where it is too large, aliases followed: nothing else has to count. */
export function bounded(located: Located, of: 'key' | 'file' = 'key'): Located {
  const known = counted.get(located);
  if (known !== undefined) return known;
  const plain = plainJson(located, of === 'key' ? VALUES_MAX : EVENTS_MAX);
  const found = 'fault' in plain && plain.fault === TOO_LARGE ? faultAt(located, TOO_LARGE) : located;
  counted.set(located, found);
  return found;
}

class Unfit extends Error {
  override readonly name = 'Unfit';
}

function readValue(reader: Reader): Located {
  const event = reader.events[reader.next++];
  invariant(event !== undefined, 'every node is closed');
  const at = { file: reader.file, line: event.line };
  if (event.kind === 'alias') {
    return reader.anchors.get(event.anchor) ?? faultAt(at, `the alias *${event.anchor} names nothing before it`);
  }
  const value = readNode(reader, event, at);
  if (event.anchor !== '') reader.anchors.set(event.anchor, value);
  return value;
}

function readNode(reader: Reader, event: ForeignEvent, at: SourceLine): Located {
  if (event.kind === 'map') return readMap(reader, at);
  if (event.kind === 'list') {
    const items: Located[] = [];
    while (reader.events[reader.next]?.kind !== 'end') items.push(readValue(reader));
    reader.next += 1;
    return { kind: 'list', items, ...at };
  }
  if (VAULT.test(event.tag)) return faultAt(at, 'it is encrypted with Ansible Vault');
  if (typeof event.value === 'number' && !isExact(event.value)) return faultAt(at, 'no record can keep this number');
  const isText = event.tag === '!!str' || event.tag === '!unsafe';
  return { kind: 'scalar', value: isText ? String(event.value ?? '') : event.value, ...at };
}

function readMap(reader: Reader, at: SourceLine): LocatedMap {
  const entries = new Map<string, Located>();
  const merged = new Map<string, Located>();
  while (reader.events[reader.next]?.kind !== 'end') {
    const isMerge = reader.events[reader.next]?.isMergeKey === true;
    const key = readValue(reader);
    const value = readValue(reader);
    if (isMerge) mergeInto(merged, value, reader);
    else entries.set(locatedText(key) ?? JSON.stringify(null), value);
  }
  reader.next += 1;
  return { kind: 'map', entries: merged.size === 0 ? entries : new Map([...merged, ...entries]), ...at };
}

/** Of several merged maps the first wins, and the map's own keys win over all. */
function mergeInto(merged: Map<string, Located>, value: Located, reader: Reader): void {
  for (const map of itemsOf(value)) {
    if (map.kind !== 'map') continue;
    reader.merged += map.entries.size;
    if (reader.merged > MERGED_MAX) continue;
    for (const [key, one] of map.entries) if (!merged.has(key)) merged.set(key, one);
  }
}

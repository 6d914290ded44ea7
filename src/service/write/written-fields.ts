// Computes the content of a file. It keeps the written form of every value that a request does not change, so writing
// back a body that was read changes nothing.
import type { FileType } from '../../catalog/catalog.ts';
import { emptyMap, fieldOf, isMap, isSame, type Json, type JsonMap } from '../../model/json.ts';

/** The fields that follow from the path: a file may omit them, and a new file does. */
function givenByPath(type: FileType): readonly string[] {
  if (type === 'tree') return [];
  return type === 'client' ? ['name', 'type', 'serial'] : ['name', 'type'];
}

/**
 * Fields whose empty value means nothing. All other fields of a typed object are keys, where an empty text is a value.
 */
const EMPTY_SAYS_NOTHING: Readonly<Partial<Record<FileType, readonly string[]>>> = {
  'stack-instance': ['description', 'stackTemplateAdditions', 'stackTemplateSubstractions', 'parameters'],
  'stack-template': ['description', 'parameters', 'resources'],
  client: ['description', 'fingerprint', 'tenant', 'node'],
};

/** Returns the fields of a new file: without those that its path gives and those whose empty value means nothing. */
export function newFields(type: FileType, fields: JsonMap): JsonMap {
  const given = givenByPath(type);
  const silent = EMPTY_SAYS_NOTHING[type] ?? ['description'];
  const kept = emptyMap<Json>();
  for (const [key, value] of Object.entries(fields)) {
    if (!given.includes(key) && !(silent.includes(key) && isEmpty(value))) kept[key] = value;
  }
  return kept;
}

/**
 * Returns the new content of a file with the content `raw`, so that it reads as `fields`. Omitted fields are removed,
 * unless the path gives them.
 */
export function laidOver(type: FileType, { raw, object }: WrittenAndRead, fields: JsonMap): JsonMap {
  const wanted = emptyMap<Json>();
  for (const key of givenByPath(type)) {
    const written = fieldOf(raw, key);
    if (written !== undefined) wanted[key] = written;
  }
  return Object.assign(wanted, rewrittenMap(raw, object, newFields(type, fields), fields));
}

interface WrittenAndRead {
  /** The content of the file. */
  readonly raw: JsonMap;
  /** The content with all defaults. */
  readonly object: JsonMap;
}

/** Keeps written keys that are in `wanted`. Adds only keys of `added`, which is a part of `wanted`. */
function rewrittenMap(raw: JsonMap, read: JsonMap, added: JsonMap, wanted: JsonMap = added): JsonMap {
  const result = emptyMap<Json>();
  for (const [key, written] of Object.entries(raw)) {
    const value = fieldOf(wanted, key);
    if (value !== undefined) result[key] = rewritten(written, fieldOf(read, key), value);
  }
  for (const [key, value] of Object.entries(added)) {
    // A default that the read filled in is not written.
    if (!Object.hasOwn(raw, key) && !isSame(fieldOf(read, key), value)) result[key] = value;
  }
  return result;
}

function rewritten(raw: Json, read: Json | undefined, wanted: Json): Json {
  if (isSame(read, wanted)) return raw;
  if (isMap(raw) && isMap(read) && isMap(wanted)) return rewrittenMap(raw, read, wanted);
  if (isList(raw) && isList(read) && isList(wanted) && raw.length === read.length)
    return rewrittenList(raw, read, wanted);
  return wanted;
}

/** Matches items that have a name, such as nodes of the tree, by that name, not by position. */
function rewrittenList(raw: readonly Json[], read: readonly Json[], wanted: readonly Json[]): readonly Json[] {
  const places = new Map(read.map((item, place) => [nameOf(item), place]));
  return wanted.map((item) => {
    const name = nameOf(item);
    const place = name === undefined ? undefined : places.get(name);
    const written = place === undefined ? undefined : raw[place];
    return written === undefined || place === undefined ? item : rewritten(written, read[place], item);
  });
}

function nameOf(item: Json): Json | undefined {
  return isMap(item) ? fieldOf(item, 'name') : undefined;
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isEmpty(value: Json): boolean {
  return value === '' || (isMap(value) && Object.keys(value).length === 0);
}

// Computes what a file should hold. It keeps the written form of every value that a request does not change, so a body
// that was read can be pinned and changes nothing.
import type { FileType } from '../../catalog/catalog.ts';
import { emptyMap, fieldOf, isMap, isSame, type Json, type JsonMap } from '../../model/json.ts';

/** Fields that a file may leave out since its path gives them, and a new one does. The tree's path gives nothing. */
function givenByPath(type: FileType): readonly string[] {
  if (type === 'tree') return [];
  return type === 'client' ? ['name', 'type', 'serial'] : ['name', 'type'];
}

/**
 * Fields that say nothing where they are empty. All others of a typed object are keys, and there an empty text is a
 * value.
 */
const EMPTY_SAYS_NOTHING: Readonly<Partial<Record<FileType, readonly string[]>>> = {
  'stack-instance': ['description', 'stackTemplateAdditions', 'stackTemplateSubstractions', 'parameters'],
  'stack-template': ['description', 'parameters', 'resources'],
  client: ['description', 'fingerprint', 'tenant', 'node'],
};

/** Returns what a new file should hold: the fields without what goes without saying. */
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
 * Returns what a file should hold that holds `raw`, which was read as `object`, so that it is read as `fields`. Fields
 * that are left out are to be gone, unless the path gives them.
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
  /** As it is written. */
  readonly raw: JsonMap;
  /** With everything filled in that was left out. */
  readonly object: JsonMap;
}

/** `wanted` may name more than `added`: what is written is kept up, and only what `added` names comes in again. */
function rewrittenMap(raw: JsonMap, read: JsonMap, added: JsonMap, wanted: JsonMap = added): JsonMap {
  const result = emptyMap<Json>();
  for (const [key, written] of Object.entries(raw)) {
    const value = fieldOf(wanted, key);
    if (value !== undefined) result[key] = rewritten(written, fieldOf(read, key), value);
  }
  for (const [key, value] of Object.entries(added)) {
    // A default that was filled in when the file was read is not written.
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

/** Maps with names, such as the nodes of the tree, are what they were, wherever they stand now. */
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

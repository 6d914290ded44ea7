// Finds layers that give every server its values. If the objects of one level (such as environments) determine a key,
// they set it. Otherwise, beginning at the most general layer, an object sets the value that most of its servers have,
// and more specific objects override it. The file of a server has the remaining keys.
import { SELECTORS } from '../model/keys.ts';
import { compareNames } from '../model/names.ts';
import type { RecordValue } from '../model/record.ts';
import { SELECTOR_TYPES, type SelectingNode } from './infer-selectors.ts';
import type { SourceValue } from './inventory.ts';

/** The keys of each object, by `<type>/<name>`. Null removes a key that a more general layer sets. */
export type LayerObjects = ReadonlyMap<string, ReadonlyMap<string, RecordValue | null>>;

/** A level of the hierarchy: the object of each server, by index, and the servers of each object. */
interface Level {
  readonly type: string;
  readonly objects: readonly (string | undefined)[];
  readonly members: ReadonlyMap<string | undefined, readonly number[]>;
}

/** The servers that have a key, by index, with its value. */
type Holders = ReadonlyMap<number, SourceValue>;

/** The name of the object of `common`, and the root of the tree. */
export const ROOT_NAME = 'global';
/** An object does not set a key that more than one in ten of its servers lack. */
const HOLDERS_A_LACKING_SERVER = 9;
/** If more objects have the same value, a more general object sets it in fewer lines. */
const OBJECTS_A_VALUE_MAX = 2;

/**
 * Returns the objects of all layers. Keys that select layers are properties and in no layer. `facets` are other keys
 * that select, such as `instance_type`: only the objects that they select set them.
 */
export function inferLayers(nodes: readonly SelectingNode[], facets: ReadonlyMap<string, string>): LayerObjects {
  const levels = [
    levelOf(
      'common',
      nodes.map(() => ROOT_NAME),
    ),
    ...SELECTOR_TYPES.map((type) =>
      levelOf(
        type,
        nodes.map(({ selection }) => selection.get(type) || undefined),
      ),
    ),
  ];
  const objects = new Map<string, Map<string, RecordValue | null>>();
  for (const [key, holders] of holdersByKey(nodes)) {
    const own = levels.find(({ type }) => type === facets.get(key)) ?? levels.find((level) => decides(level, holders));
    const inherited = new Map<number, string>();
    function put(object: string, value: SourceValue | undefined): void {
      const keys = objects.get(object) ?? new Map<string, RecordValue | null>();
      objects.set(object, keys.set(key, value?.value ?? null));
    }
    for (const level of key === 'description' ? [] : own === undefined ? levels : [own]) {
      for (const [object, value] of sharedValues(level, holders, inherited)) {
        put(`${level.type}/${object}`, value);
        for (const index of level.members.get(object) ?? []) inherited.set(index, value.text);
      }
    }
    for (const index of new Set([...holders.keys(), ...inherited.keys()])) {
      const value = holders.get(index);
      if (value?.text !== inherited.get(index)) put(`clientcert/${nodes[index]?.node.name}`, value);
    }
  }
  return objects;
}

function levelOf(type: string, objects: Level['objects']): Level {
  return { type, objects, members: Map.groupBy(objects.keys(), (index) => objects[index]) };
}

function holdersByKey(nodes: readonly SelectingNode[]): readonly (readonly [string, Holders])[] {
  const found = new Map<string, Map<number, SourceValue>>();
  for (const [index, { node }] of nodes.entries()) {
    for (const [key, value] of node.values) {
      if (!SELECTORS.has(key)) found.set(key, (found.get(key) ?? new Map<number, SourceValue>()).set(index, value));
    }
  }
  return [...found].sort(([a], [b]) => compareNames(a, b));
}

/**
 * Returns true if all servers of an object have the same value, no others have the key, and few objects have a like
 * value.
 */
function decides({ objects, members }: Level, holders: Holders): boolean {
  const texts = new Map<string, string>();
  for (const [index, { text }] of holders) {
    const object = objects[index];
    if (object === undefined || (texts.get(object) ?? text) !== text) return false;
    texts.set(object, text);
  }
  const servers = [...texts.keys()].reduce((sum, object) => sum + (members.get(object)?.length ?? 0), 0);
  const isShared = texts.size < holders.size || ![...holders.values()].some(({ isOwn }) => isOwn);
  return servers === holders.size && isShared && texts.size <= OBJECTS_A_VALUE_MAX * new Set(texts.values()).size;
}

/** Yields the objects of a level in which setting a shared value saves more server values than it overrides. */
function* sharedValues(
  { objects, members }: Level,
  holders: Holders,
  inherited: ReadonlyMap<number, string>,
): Generator<readonly [object: string, value: SourceValue]> {
  for (const [object, present] of Map.groupBy(holders.keys(), (index) => objects[index])) {
    const all = members.get(object)?.length ?? 0;
    if (object === undefined || (all - present.length) * HOLDERS_A_LACKING_SERVER > present.length) continue;
    const same = Map.groupBy(present, (index) => holders.get(index)?.text);
    const most = [...same.values()].reduce((best, one) => (one.length > best.length ? one : best));
    const value = holders.get(most[0] ?? 0);
    const right = present.filter((index) => holders.get(index)?.text === inherited.get(index)).length;
    // A value that was written only for one server belongs into its file.
    const spared = most.length - right - (value?.isOwn === true ? 1 : 0);
    if (value !== undefined && most.length * 2 > all && spared > 0) yield [object, value];
  }
}

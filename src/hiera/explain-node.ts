// Explains the configuration of one node: all its layers, including empty ones, and what each layer sets for every key.
// The record of `?info=true` is derived from it.
import type { Origin } from '../model/expanded.ts';
import type {
  ExplainedKey,
  ExplainedLayer,
  FilelessExplanation,
  FilePlace,
  LayerStatement,
} from '../model/explanation.ts';
import { emptyMap } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { ExplainedRecord, ExplainedValue, RecordValue, ValueSource } from '../model/record.ts';
import type { HieraNode, Layer } from './node.ts';
import { computedLayer, mergedLayers, type NodeFacts, outputsIn } from './record.ts';
import { compileSecrets } from './secrets.ts';
import { nameAtLevel, readSelectors } from './select-layers.ts';

/** The inputs of {@link explainNode} in addition to the node. */
interface ExplainOptions extends NodeFacts {
  /** The name of the tree's root, which is also that of the common object. */
  readonly root: string;
  /** The commit from which the node is computed; null for a directory. */
  readonly commit: string | null;
  /** Explains this key only. */
  readonly key?: string | undefined;
}

/** A layer for display, and the merged layer, if there is one. */
interface Level {
  readonly shown: ExplainedLayer;
  readonly layer: Layer | undefined;
}

/**
 * Returns all layers of a node, and the statements about every key, or about one key. `keys` is empty if no layer sets
 * or removes that key. The size grows with the content of the layers, not with layers times keys.
 */
export function explainNode(node: HieraNode, options: ExplainOptions): FilelessExplanation {
  const { key, commit } = options;
  const levels = listLevels(node, options);
  const layers = levels.map(({ layer }) => layer);
  const keys = emptyMap<ExplainedKey>();
  for (const name of key === undefined ? keysIn(layers) : [key]) {
    const explained = explainKey(name, layers, node);
    if (explained.statements.length > 0) keys[name] = explained;
  }
  const { name, stackInstance } = node;
  return { node: name, stackInstance, commit, isWanted: true, layers: levels.map(({ shown }) => shown), keys };
}

/** Returns the record of a node with the source of every value, in the order of the record. */
export function explainRecord(node: HieraNode, facts: NodeFacts): ExplainedRecord {
  const layers = layersOf(node, facts);
  const record = emptyMap<ExplainedValue>();
  for (const key of keysIn(layers)) {
    const value = projected(explainKey(key, layers, node), layers);
    if (value !== undefined) record[key] = value;
  }
  return record;
}

/** Returns one value of a record with its source; undefined for a key that the record does not have. */
export function explainValue(node: HieraNode, facts: NodeFacts, key: string): ExplainedValue | undefined {
  const layers = layersOf(node, facts);
  return projected(explainKey(key, layers, node), layers);
}

/** Specific to general. */
function layersOf(node: HieraNode, facts: NodeFacts): readonly Layer[] {
  return [...mergedLayers(node, facts), computedLayer(node, facts)].toReversed();
}

/** The other layers that set the key are the overrides. Under the rule `unique` their lists are joined. */
function projected({ value, merge, statements }: ExplainedKey, layers: readonly Layer[]): ExplainedValue | undefined {
  const [first, ...others] = statements;
  if (first === undefined || value === null) return undefined;
  function sourceOf({ layer, at, outputs }: LayerStatement): ValueSource {
    const { type = '', name = '' } = layers[layer] ?? {};
    return { type, name, file: at?.file ?? null, line: at?.line ?? null, ...(outputs && { outputs }) };
  }
  return { value, ...sourceOf(first), merge, overrides: others.map((one) => ({ ...sourceOf(one), value: one.value })) };
}

/**
 * Returns the explanation of a server that is no longer wanted, from its last record. It has only layers that set a
 * key, and no commit.
 */
export function explainLastRecord(
  node: string,
  instance: string,
  { record, key }: { readonly record: ExplainedRecord; readonly key?: string | undefined },
): FilelessExplanation {
  const layers: ExplainedLayer[] = [];
  const keys = emptyMap<ExplainedKey>();
  for (const [name, value] of Object.entries(record)) {
    if (key === undefined || key === name) keys[name] = recordedKey(value, layers);
  }
  return { node, stackInstance: [instance], commit: null, isWanted: false, layers, keys };
}

/** Specific to general. */
function listLevels(node: HieraNode, options: ExplainOptions): readonly Level[] {
  const merged = mergedLayers(node, options);
  const hasOutputs = merged.length > node.shared.length + node.own.length;
  const outputs = hasOutputs ? merged[node.shared.length] : undefined;
  const shared = sharedLevels(node, options.root);
  const isServer = node.stackInstance.length > 0;
  const properties = merged.slice(merged.length - node.own.length);
  const own = isServer ? serverLevels(node, properties) : node.own.map(objectLevel);
  return [
    { shown: { ...described(node), kind: 'computed', file: null }, layer: computedLayer(node, options) },
    ...own.toReversed(),
    ...(isServer ? [{ shown: { ...described(node), kind: 'outputs', file: null } as const, layer: outputs }] : []),
    ...shared.toReversed(),
  ];
}

/** The properties of a server, and its clientcert, which need not exist. */
function serverLevels(node: HieraNode, [properties, clientcert]: readonly Layer[]): readonly Level[] {
  const absent: Level = {
    shown: { ...described(node), kind: 'object', file: null, status: 'absent' },
    layer: undefined,
  };
  return [
    { shown: { ...described(node), kind: 'properties', file: null }, layer: properties },
    clientcert === undefined ? absent : objectLevel(clientcert),
  ];
}

/** Returns the levels of the hierarchy, general to specific. `shared` has the layers that exist, in the same order. */
function sharedLevels({ own, shared, hierarchy }: HieraNode, root: string): readonly Level[] {
  const [selecting] = own;
  if (selecting === undefined) return shared.map(objectLevel);
  const { selectors } = readSelectors(selecting, hierarchy.order);
  let found = 0;
  return hierarchy.order.map((level) => {
    const { type } = level;
    const name = nameAtLevel(level, selectors, root);
    const next = shared[found];
    if (name === undefined)
      return { shown: { kind: 'object', type, name: null, file: null, status: 'not selected' }, layer: undefined };
    if (next === undefined || next.type !== type || next.name !== name)
      return { shown: { kind: 'object', type, name, file: null, status: 'absent' }, layer: undefined };
    found += 1;
    return objectLevel(next);
  });
}

function objectLevel(layer: Layer): Level {
  const { type, name } = layer;
  // All keys of an object are in one file, so any key gives it.
  const file = layer.origin('')?.entry.path ?? null;
  return { shown: { kind: 'object', type, name, file, status: 'present' }, layer };
}

function described({ name }: Pick<HieraNode, 'name'>): Pick<ExplainedLayer, 'type' | 'name' | 'status'> {
  return { type: 'clientcert', name, status: 'present' };
}

/** Returns keys in the order of a record: the computed keys, then the others by code unit. */
function keysIn([computed, ...others]: readonly (Layer | undefined)[]): ReadonlySet<string> {
  const keys = others.flatMap((layer) => Object.keys(layer?.values ?? {}));
  return new Set([...Object.keys(computed?.values ?? {}), ...keys.sort(compareNames)]);
}

/** Explains one key. `layers` are specific to general, and begin with the computed one. */
function explainKey(key: string, layers: readonly (Layer | undefined)[], { hierarchy }: HieraNode): ExplainedKey {
  const rules = hierarchy.merge;
  const isComputed = isIn(layers[0], key);
  const merge = !isComputed && Object.hasOwn(rules, key) && rules[key] === 'unique' ? 'unique' : 'first';
  const statements: LayerStatement[] = [];
  const joined = new Set<string>();
  let isDecided = false;
  layers.forEach((layer, index) => {
    if (layer === undefined || !isIn(layer, key)) return;
    const value = layer.values[key] ?? null;
    const { outputs } = outputsIn(layer, key);
    const isKnown = value !== null || outputs === undefined;
    const effect = isDecided ? 'overridden' : !isKnown ? 'unknown' : value === null ? 'removes' : 'used';
    isDecided ||= merge === 'first' || isComputed || value === null;
    const adds = merge === 'unique' && effect === 'used' ? { adds: added(joined, value) } : {};
    statements.push({ layer: index, value, effect, ...placesOf(layer, key), ...adds, ...(outputs && { outputs }) });
  });
  const [first] = statements;
  const value = first === undefined ? null : merge === 'unique' && first.value !== null ? [...joined] : first.value;
  return { value, merge, isSecret: compileSecrets(hierarchy).isSecret(key), statements };
}

function isIn(layer: Layer | undefined, key: string): boolean {
  return layer !== undefined && Object.hasOwn(layer.values, key);
}

/**
 * Adds the items of a list to `joined`, and returns the new ones. A value that is not a list counts as a list of one.
 */
function added(joined: Set<string>, value: RecordValue | null): readonly string[] {
  const items = value === null ? [] : typeof value === 'object' ? value : [String(value)];
  const fresh = [...new Set(items)].filter((item) => !joined.has(item));
  for (const item of fresh) joined.add(item);
  return fresh;
}

function placesOf(layer: Layer, key: string): Pick<LayerStatement, 'at' | 'suppliedAt'> {
  const origin = layer.origin(key);
  const blamed = layer.blame?.(key) ?? origin;
  if (origin === null || blamed === null) return { at: null, suppliedAt: null };
  const isSamePlace = blamed.entry === origin.entry && blamed.pointer.startsWith(origin.pointer);
  return { at: placeOf(origin), suppliedAt: isSamePlace ? null : placeOf(blamed) };
}

function placeOf({ entry, pointer }: Origin): FilePlace {
  return { file: entry.path, line: entry.locate(pointer, 'key').line };
}

/** Adds missing layers to `layers`. The merge rule determines whether a value was overridden or joined. */
function recordedKey({ value, merge, overrides, ...source }: ExplainedValue, layers: ExplainedLayer[]): ExplainedKey {
  const sources = [{ ...source, value }, ...overrides];
  const end = sources.findIndex((other, index) => index > 0 && other.value === null);
  const statements = sources.map((one, index): LayerStatement => {
    const isJoined = merge === 'unique' && (end < 0 || index < end);
    const effect = index === 0 || isJoined ? 'used' : merge === 'unique' && index === end ? 'removes' : 'overridden';
    const at = one.file === null || one.line === null ? null : { file: one.file, line: one.line };
    const outputs = one.outputs && { outputs: one.outputs };
    return { layer: indexIn(layers, one), value: one.value, effect, at, suppliedAt: null, ...outputs };
  });
  return { value, merge, isSecret: false, statements };
}

function indexIn(
  layers: ExplainedLayer[],
  { type, name, file }: Pick<ExplainedValue, 'type' | 'name' | 'file'>,
): number {
  const known = layers.findIndex((layer) => layer.type === type && layer.name === name && layer.file === file);
  if (known >= 0) return known;
  const kind = file === null ? 'computed' : 'object';
  return layers.push({ kind, type, name, file, status: 'present' }) - 1;
}

/** Returns the paths of all files in an explanation, sorted, without repeats. */
export function filesIn({ layers, keys }: Pick<FilelessExplanation, 'layers' | 'keys'>): readonly string[] {
  const files = new Set<string>();
  for (const { file } of layers) if (file !== null) files.add(file);
  for (const { statements } of Object.values(keys)) {
    for (const { at, suppliedAt } of statements) {
      for (const place of [at, suppliedAt]) if (place !== null) files.add(place.file);
    }
  }
  return [...files].sort(compareNames);
}

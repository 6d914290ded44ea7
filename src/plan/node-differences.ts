// Compares the records of one node before and after. Only keys of layers that are not the very same on both sides are
// merged, so that one changed line costs little on each of thousands of nodes. Outputs of providers are the same on both
// sides and left out, and so is `last_stack_update`, which follows from the changes of servers.
import { mergeKey, type Sourced } from '../hiera/merge.ts';
import type { HieraNode, Layer } from '../hiera/node.ts';
import type { Origin } from '../model/expanded.ts';
import { isSame } from '../model/json.ts';
import type { RecordValue } from '../model/record.ts';

/** The value of a key on one side, and the layer that it comes from; null: a computed key. */
export interface KeyValue {
  readonly value: RecordValue;
  readonly layer: Layer | null;
  /** Where a computed key is written; undefined: nowhere. */
  readonly origin?: Origin | undefined;
}

/** A key of one node that has another value, or is only on one side. */
export interface KeyDifference {
  readonly key: string;
  readonly from: KeyValue | undefined;
  readonly to: KeyValue | undefined;
}

/** Returns the keys in which the records of a node differ. */
export function keyDifferences(before: HieraNode, after: HieraNode): readonly KeyDifference[] {
  const differences = [...computedDifferences(before, after)];
  const [old, now] = [layersOf(before), layersOf(after)];
  for (const key of candidateKeys(before, after, { old, now })) {
    const from = mergeKey(key, old, before.hierarchy.merge);
    const to = mergeKey(key, now, after.hierarchy.merge);
    if (from?.value === to?.value || isSame(from?.value, to?.value)) continue;
    differences.push({ key, from: valueIn(from), to: valueIn(to) });
  }
  return differences;
}

function valueIn(sourced: Sourced | undefined): KeyValue | undefined {
  return sourced && { value: sourced.value, layer: sourced.layer };
}

function* computedDifferences(before: HieraNode, after: HieraNode): Generator<KeyDifference> {
  if (before.description !== after.description) {
    const [from, to] = [before, after].map(({ description, descriptionOrigin }) => {
      return { value: description, layer: null, origin: descriptionOrigin };
    });
    yield { key: 'description', from, to };
  }
  const [from, to] = [before, after].map(({ stackInstance }) => ({ value: stackInstance, layer: null }));
  if (!isSame(before.stackInstance, after.stackInstance)) yield { key: 'stackInstance', from, to };
}

interface LayerLists {
  readonly old: readonly Layer[];
  readonly now: readonly Layer[];
}

/** Returns the keys whose value may differ. */
function candidateKeys(before: HieraNode, after: HieraNode, { old, now }: LayerLists): ReadonlySet<string> {
  const keys = new Set<string>();
  const isSamePlaces = old.length === now.length && old.every((layer, at) => isSameObject(layer, now[at]));
  if (isSamePlaces) for (const [at, layer] of old.entries()) addDifferingKeys(keys, layer, now[at]);
  else for (const layer of movedLayers(old, now)) addKeys(keys, layer);
  if (before.hierarchy !== after.hierarchy) for (const layer of [...old, ...now]) addKeys(keys, layer);
  return keys;
}

function isSameObject(a: Layer, b: Layer | undefined): boolean {
  return b !== undefined && a.type === b.type && a.name === b.name;
}

/** Returns all layers where their order differs, else those of one side only. */
function movedLayers(old: readonly Layer[], now: readonly Layer[]): readonly Layer[] {
  const [before, after] = [new Set(old), new Set(now)];
  const kept = now.filter((layer) => before.has(layer));
  const isSameOrder = old.filter((layer) => after.has(layer)).every((layer, at) => layer === kept[at]);
  if (!isSameOrder) return [...old, ...now];
  return [...old.filter((layer) => !after.has(layer)), ...now.filter((layer) => !before.has(layer))];
}

const pairs = new WeakMap<Layer, { readonly after: Layer; readonly keys: readonly string[] }>();

/** Thousands of nodes share the layer of an object: two versions of it are compared once. */
function addDifferingKeys(keys: Set<string>, before: Layer, after: Layer | undefined): void {
  if (after === undefined || before === after || before.values === after.values) return;
  const known = pairs.get(before);
  const found = known?.after === after ? known.keys : differingKeys(before, after);
  if (found !== known?.keys) pairs.set(before, { after, keys: found });
  for (const key of found) keys.add(key);
}

function differingKeys({ values: old }: Layer, { values: now }: Layer): readonly string[] {
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((key) => {
    return Object.hasOwn(old, key) !== Object.hasOwn(now, key) || !isSame(old[key], now[key]);
  });
}

function addKeys(keys: Set<string>, { values }: Layer): void {
  for (const key of Object.keys(values)) keys.add(key);
}

function layersOf({ shared, own }: HieraNode): readonly Layer[] {
  return [...shared, ...own];
}

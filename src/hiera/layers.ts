// Turns sources of configuration keys (a file, a server's properties, a provider's outputs) into layers.
// select-layers.ts chooses the layers of a node.

import { invariant } from '../base/invariant.ts';
import { below, type Entry, type ProblemText, problemAt, type ValidEntry } from '../model/entry.ts';
import type { ExpandedServer } from '../model/expanded.ts';
import { emptyMap, fieldOf, type Json, type JsonMap } from '../model/json.ts';
import { DESCRIBING_FIELDS, isStructural, PROXY_TAG, recordKeyFault, SELECTORS } from '../model/keys.ts';
import type { Properties, TypedObject } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { RecordValue } from '../model/record.ts';
import type { OutputTexts } from '../model/spec.ts';
import type { Layer, LayerValues } from './node.ts';

const layers = new WeakMap<Entry<unknown>, Layer>();

/** Returns the layer of an object's file: one layer for each entry, because thousands of nodes share it. */
export function layerOf(entry: ValidEntry<TypedObject>): Layer {
  const known = layers.get(entry);
  if (known !== undefined) return known;
  const { type, name } = entry.object;
  const values = valuesOf(entry.object);
  const layer: Layer = { type, name, values, origin: (key) => ({ entry, pointer: below('', key) }) };
  layers.set(entry, layer);
  return layer;
}

/** Returns the layer of a server's own properties. It removes keys that use outputs, until the outputs are known. */
export function propertiesLayer({ name, properties, reads, originOf: origin, blameOf: blame }: ExpandedServer): Layer {
  const layer: Layer = { type: 'clientcert', name, values: valuesOf(properties), origin, blame };
  return reads === undefined ? layer : { ...withRead(layer, reads, {}), reads };
}

/** Returns the layer of a server's own properties, with the known values of keys that use outputs. */
export function withRead(layer: Layer, reads: OutputTexts, known: Properties): Layer {
  const values = Object.assign(emptyMap<RecordValue | null>(), layer.values);
  for (const key of Object.keys(reads)) values[key] = fieldOf(known, key) ?? null;
  return { ...layer, values };
}

/**
 * Returns the layer of the outputs that a provider reported. A user cannot correct a provider, so values that cannot be
 * in a record are left out: maps, lists of anything but strings, nulls and forbidden keys. Structural keys, keys that
 * select layers and the tags of proxies are left out, too: a proxy must not decide who manages its servers.
 */
export function outputsLayer(name: string, outputs: JsonMap): Layer {
  const values = emptyMap<RecordValue>();
  for (const [key, value] of Object.entries(valuesOf(outputs))) {
    const isOwn = key === PROXY_TAG || SELECTORS.has(key) || isStructural(key);
    if (value !== null && !isOwn && recordKeyFault(key) === undefined) values[key] = value;
  }
  return { type: 'clientcert', name, values, origin: () => null };
}

/** Returns a problem at a key that the layer sets. */
export function problemInLayer(layer: Layer, key: string, text: ProblemText): Problem {
  const origin = layer.blame?.(key) ?? layer.origin(key);
  invariant(origin !== null, `a file sets "${key}" of ${layer.type} ${layer.name}`);
  return problemAt(origin.entry, origin.pointer, text);
}

/** Leaves out values that cannot be in a record. If a file contains one, the catalog has reported it. */
function valuesOf(object: JsonMap): LayerValues {
  const values = emptyMap<RecordValue | null>();
  for (const [key, value] of Object.entries(object)) {
    if (!DESCRIBING_FIELDS.has(key) && isLayerValue(value)) values[key] = value;
  }
  return values;
}

function isLayerValue(value: Json): value is RecordValue | null {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return value === null || typeof value !== 'object';
}

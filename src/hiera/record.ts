// Builds the record of a node: its merged layers, the outputs of its provider, and the computed keys. See
// docs/concepts.md, records.
import { emptyMap, fieldOf, type JsonMap } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { Properties } from '../model/objects.ts';
import { outputsOf } from '../model/outputs.ts';
import type { ExplainedRecord, NodeRecord, RecordValue, ValueSource } from '../model/record.ts';
import { outputsLayer, withRead } from './layers.ts';
import { mergeValues } from './merge.ts';
import type { HieraNode, Layer } from './node.ts';
import { compileSecrets } from './secrets.ts';

/** Facts about a node that come from its row. */
export interface NodeFacts {
  /** The last reported outputs; empty for a hand-written clientcert. */
  readonly outputs: JsonMap;
  /** `last_stack_update`, RFC 3339 in UTC. */
  readonly updated: string;
  /** The wanted properties of a server, with the values that use outputs; omitted if none are recorded. */
  readonly properties?: Properties;
}

/** Returns the record of a node: the computed keys, then the others by code unit. */
export function buildPlainRecord(node: HieraNode, facts: NodeFacts): NodeRecord {
  const record = Object.assign(emptyMap<RecordValue>(), computedLayer(node, facts).values);
  const merged = mergeValues(mergedLayers(node, facts), node.hierarchy.merge);
  for (const key of [...merged.keys()].sort(compareNames)) {
    const value = merged.get(key);
    if (value !== undefined && !Object.hasOwn(record, key)) record[key] = value;
  }
  return record;
}

/** Returns the layers of a node to be merged, general to specific. Outputs are a layer only if there are any. */
export function mergedLayers(node: HieraNode, facts: NodeFacts): Layer[] {
  const own = ownLayers(node, facts);
  if (Object.keys(facts.outputs).length === 0) return [...node.shared, ...own];
  return [...node.shared, withoutPlainSecrets(outputsLayer(node.name, facts.outputs), node), ...own];
}

/** The row of a server has the values of properties that use outputs. */
function ownLayers(node: HieraNode, { properties }: NodeFacts): readonly Layer[] {
  const [first, ...others] = node.own;
  if (first?.reads === undefined || properties === undefined) return node.own;
  return [withoutPlainSecrets(withRead(first, first.reads, properties), node), ...others];
}

/** Returns the layer without values of secret keys that are not references. */
function withoutPlainSecrets(layer: Layer, { hierarchy }: HieraNode): Layer {
  const exposed = compileSecrets(hierarchy).exposedIn(layer);
  if (exposed.length === 0) return layer;
  const values = Object.assign(emptyMap<RecordValue | null>(), layer.values);
  for (const key of exposed) delete values[key];
  return { ...layer, values };
}

/**
 * Returns the layer of the keys that every record has. Users write only the description. This layer overrides all
 * others and is merged with none.
 */
export function computedLayer(node: HieraNode, facts: NodeFacts): Layer {
  const { name, description, descriptionOrigin = null, stackInstance } = node;
  const keys = { name, description, type: 'clientcert', stackInstance, last_stack_update: facts.updated };
  return {
    type: 'clientcert',
    name,
    values: Object.assign(emptyMap<RecordValue>(), keys),
    origin: (key) => (key === 'description' ? descriptionOrigin : null),
  };
}

/** Returns a record without the sources of its values. */
export function plainRecord(explained: ExplainedRecord): NodeRecord {
  const record = emptyMap<RecordValue>();
  for (const [key, { value }] of Object.entries(explained)) record[key] = value;
  return record;
}

/** Returns the field `outputs` with the outputs that a key uses, or no field if it uses none. */
export function outputsIn({ reads }: Layer, key: string): Pick<ValueSource, 'outputs'> {
  const text = reads && fieldOf(reads, key);
  return text === undefined ? {} : { outputs: outputsOf(text) };
}

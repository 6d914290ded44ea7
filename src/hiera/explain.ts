// Explains where each value of a record comes from, and which values it hides, for `?info=true`. See docs/rest.md,
// hiera.
import { emptyMap } from '../model/json.ts';
import type { ExplainedRecord, ExplainedValue, NodeRecord, RecordValue, ValueSource } from '../model/record.ts';
import type { Sourced } from './merge.ts';
import type { Layer } from './node.ts';
import type { MergedRecord } from './record.ts';

/** Returns a record with the source of every value, its keys in the order of the record. */
export function explainRecord(merged: MergedRecord): ExplainedRecord {
  const record = emptyMap<ExplainedValue>();
  for (const [key, sourced] of merged) record[key] = explainValue(sourced);
  return record;
}

/**
 * Returns one value with its source. `overrides` holds every other layer that sets the key; under the rule `unique`
 * these are the layers whose lists are joined in.
 */
export function explainValue({ key, value, merge, layer, others }: Sourced): ExplainedValue {
  const overrides = others.toReversed().map((other) => {
    return { ...sourceOf(other, key), value: other.values[key] ?? null };
  });
  return { value, ...sourceOf(layer, key), merge, overrides };
}

/** Returns a record without the sources of its values. */
export function plainRecord(explained: ExplainedRecord): NodeRecord {
  const record = emptyMap<RecordValue>();
  for (const [key, { value }] of Object.entries(explained)) record[key] = value;
  return record;
}

function sourceOf(layer: Layer, key: string): ValueSource {
  const { type, name } = layer;
  const origin = layer.origin(key);
  if (origin === null) return { type, name, file: null, line: null };
  const { line } = origin.entry.locate(origin.pointer, 'key');
  return { type, name, file: origin.entry.path, line };
}

// Merges the configuration layers of one node. Knows nothing about where layers come from; see layers.ts.
import type { MergeRule } from '../model/objects.ts';
import type { RecordValue } from '../model/record.ts';
import type { Layer } from './node.ts';

/** A merged value, and the most specific layer that sets its key. */
export interface Sourced {
  readonly value: RecordValue;
  readonly layer: Layer;
}

/**
 * Returns the merged value of every key that is not removed.
 *
 * Layers are general to specific. Unless a rule says `unique`, a later value replaces the whole earlier one, so one
 * file shows the value. `unique` joins lists, most specific first, without repeats. Under either rule, null removes the
 * values of earlier layers.
 */
export function mergeValues(
  layers: readonly Layer[],
  rules: Readonly<Record<string, MergeRule>>,
): Map<string, RecordValue> {
  const last = new Map<string, RecordValue | null | undefined>();
  for (const { values } of layers) for (const key of Object.keys(values)) last.set(key, values[key]);
  const merged = new Map<string, RecordValue>();
  for (const [key, value] of last) {
    if (value === undefined || value === null) continue;
    merged.set(key, isJoined(key, rules) ? (mergeKey(key, layers, rules)?.value ?? value) : value);
  }
  return merged;
}

/** Returns the merged value of one key, and its layer; undefined for a key that is unset or removed. */
export function mergeKey(
  key: string,
  layers: readonly Layer[],
  rules: Readonly<Record<string, MergeRule>>,
): Sourced | undefined {
  const setters = layers.filter(({ values }) => Object.hasOwn(values, key));
  const layer = setters.at(-1);
  const last = layer?.values[key];
  if (layer === undefined || last === undefined || last === null) return undefined;
  return { value: isJoined(key, rules) ? joinLists(key, setters) : last, layer };
}

function isJoined(key: string, rules: Readonly<Record<string, MergeRule>>): boolean {
  return Object.hasOwn(rules, key) && rules[key] === 'unique';
}

/** A value that is not a list counts as a list of one. Only outputs can have such a value; files are checked before. */
function joinLists(key: string, setters: readonly Layer[]): readonly string[] {
  const joined = new Set<string>();
  for (const { values } of setters.toReversed()) {
    const value = values[key];
    if (value === undefined || value === null) break;
    for (const item of typeof value === 'object' ? value : [String(value)]) joined.add(item);
  }
  return [...joined];
}

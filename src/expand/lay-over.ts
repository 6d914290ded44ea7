// Lays a map over another one: maps merge key by key, every other value replaces what is below.
import { below } from '../model/entry.ts';
import { emptyMap, isMap, type JsonMap } from '../model/json.ts';

export interface Laid {
  readonly value: JsonMap;
  /** The pointers of values that come from the upper map. Everything below them is the upper map's too. */
  readonly taken: ReadonlySet<string>;
}

/** Returns both maps as one, and which of its values are the upper's. Neither map is changed. */
export function layOver(lower: JsonMap, upper: JsonMap): Laid {
  const taken = new Set<string>();
  return { value: merge(lower, upper, { pointer: '', taken }), taken };
}

function merge(lower: JsonMap, upper: JsonMap, at: { readonly pointer: string; readonly taken: Set<string> }): JsonMap {
  const merged = Object.assign(emptyMap(), lower);
  for (const [key, value] of Object.entries(upper)) {
    const pointer = below(at.pointer, key);
    const under = merged[key];
    if (isMap(value) && isMap(under)) {
      merged[key] = merge(under, value, { pointer, taken: at.taken });
    } else {
      merged[key] = value;
      at.taken.add(pointer);
    }
  }
  return merged;
}

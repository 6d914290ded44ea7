// Lays a map over another one: maps merge key by key, every other value replaces what is below.
import { below } from '../model/entry.ts';
import { emptyMap, isMap, type JsonMap } from '../model/json.ts';

interface Laid {
  readonly value: JsonMap;
  /** The pointers of values that come from the upper map. Everything below them is the upper map's too. */
  readonly overridden: ReadonlySet<string>;
}

/** Returns both maps as one, and which of its values are the upper's. Neither map is changed. */
export function overlay(lower: JsonMap, upper: JsonMap): Laid {
  const overridden = new Set<string>();
  return { value: merge(lower, upper, { pointer: '', overridden }), overridden };
}

function merge(
  lower: JsonMap,
  upper: JsonMap,
  at: { readonly pointer: string; readonly overridden: Set<string> },
): JsonMap {
  const merged = Object.assign(emptyMap(), lower);
  for (const [key, value] of Object.entries(upper)) {
    const pointer = below(at.pointer, key);
    const under = merged[key];
    if (isMap(value) && isMap(under)) {
      merged[key] = merge(under, value, { pointer, overridden: at.overridden });
    } else {
      merged[key] = value;
      at.overridden.add(pointer);
    }
  }
  return merged;
}

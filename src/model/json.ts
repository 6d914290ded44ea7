// Defines JSON values from files of the stacks repository. Maps have no prototype, so no user key can reach one.

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonMap;

/** A map with user-chosen keys. Has a null prototype if Treeline made it; see {@link emptyMap}. */
export interface JsonMap {
  readonly [key: string]: Json;
}

/** Returns a map without a prototype, safe for user-chosen keys (`__proto__`, `constructor`). */
export function emptyMap<Value = Json>(): Record<string, Value> {
  // `Object.create(null)` makes a dictionary, which takes twice as long to fill, list and encode, and more memory.
  return Object.setPrototypeOf({}, null);
}

/** Returns true for a map; false for lists and scalars. */
export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns true for a number that is kept exactly: finite, and not an integer beyond 2^53. */
export function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

/** Returns the value of a map's own key, or undefined if the map does not have it. */
export function fieldOf<Value>(map: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Returns true if two values are equal: the order of a map's keys does not count, the order of a list does. */
export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  }
  if (!isMap(a) || !isMap(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}

/** Returns the value of a JSON text; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

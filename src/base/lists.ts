// Compares lists item by item, and keeps the newest entries of a map.

/** Returns true if both lists have the same items in the same order. Objects are compared by identity. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((item, index) => item === b[index]));
}

/** Adds an entry as the newest, and removes the oldest ones beyond `max`. */
export function keepNewest<Key, Value>(
  values: Map<Key, Value>,
  [key, value]: readonly [Key, Value],
  max: number,
): void {
  values.delete(key);
  values.set(key, value);
  for (const oldest of values.keys()) {
    if (values.size <= max) return;
    values.delete(oldest);
  }
}

// Compares lists item by item, and keeps equal ones once.

/** Returns the list that it was given, or the one before if that has the same items. It keeps one list. */
export type ShareList = <Item>(list: readonly Item[]) => readonly Item[];

/** Returns a function that shares lists. */
export function listSharing(): ShareList {
  let last: readonly unknown[] = [];
  return <Item>(list: readonly Item[]): readonly Item[] => {
    // Both hold the same items, so they have the same type.
    if (isSameList(list, last)) return last as readonly Item[];
    last = list;
    return list;
  };
}

/** Returns true if both lists have the same items in the same order. Equal objects count as different ones. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((item, index) => item === b[index]));
}

/** Keeps an entry as the newest; beyond `max` the oldest gives way. */
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

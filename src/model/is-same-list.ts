// Compares lists item by item.

/** Returns true if both lists have the same items in the same order. Equal objects count as different ones. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((item, index) => item === b[index]));
}

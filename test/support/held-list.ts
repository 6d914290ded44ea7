// A list that takes long to write.

/** Returns a list that repeats its first item, a millisecond each, while `isHeld`: who writes it must let other work run. */
export function heldList<Item>(items: readonly Item[], isHeld: () => boolean): readonly Item[] {
  function* iterate(): ArrayIterator<Item> {
    for (const first of items.slice(0, 1)) {
      while (isHeld()) {
        const end = performance.now() + 1;
        while (performance.now() < end);
        yield first;
      }
    }
    yield* items.values();
  }
  return Object.defineProperty([...items], Symbol.iterator, { value: iterate });
}

// The largest of many numbers that come and go under names: a binary heap that knows where each name stands.

interface Entry {
  readonly name: string;
  readonly value: number;
}

export class Latest {
  /** No entry is larger than the one at half its place, which is above it. */
  readonly #entries: Entry[] = [];
  readonly #places = new Map<string, number>();

  /** Sets the number of a name; undefined removes it. */
  set(name: string, value: number | undefined): void {
    const place = this.#places.get(name);
    if (place !== undefined) this.#remove(name, place);
    if (value === undefined) return;
    this.#put({ name, value }, this.#entries.length);
    this.#rise(this.#entries.length - 1);
  }

  /** Returns the largest number of all names but `name`; undefined where there is none. */
  besides(name: string): number | undefined {
    const [first, second, third] = this.#entries;
    if (first?.name !== name) return first?.value;
    if (second === undefined) return undefined;
    return Math.max(second.value, third?.value ?? second.value);
  }

  #remove(name: string, place: number): void {
    const last = this.#entries.pop();
    this.#places.delete(name);
    if (last === undefined || last.name === name) return;
    this.#put(last, place);
    this.#rise(place);
    this.#sink(this.#places.get(last.name) ?? place);
  }

  #put(entry: Entry, place: number): void {
    this.#entries[place] = entry;
    this.#places.set(entry.name, place);
  }

  #rise(from: number): void {
    for (let place = from; place > 0; ) {
      const above = (place - 1) >> 1;
      if (!this.#swapIfLarger(place, above)) return;
      place = above;
    }
  }

  #sink(from: number): void {
    for (let place = from; ; ) {
      const left = 2 * place + 1;
      const larger = this.#valueAt(left + 1) > this.#valueAt(left) ? left + 1 : left;
      if (larger >= this.#entries.length || !this.#swapIfLarger(larger, place)) return;
      place = larger;
    }
  }

  /** Swaps the two where the lower one is larger; returns whether it did. */
  #swapIfLarger(lower: number, upper: number): boolean {
    const [below, above] = [this.#entries[lower], this.#entries[upper]];
    if (below === undefined || above === undefined || below.value <= above.value) return false;
    this.#put(below, upper);
    this.#put(above, lower);
    return true;
  }

  #valueAt(place: number): number {
    return this.#entries[place]?.value ?? Number.NEGATIVE_INFINITY;
  }
}

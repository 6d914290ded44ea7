// Keeps the largest of many numbers, each set under a name: a binary heap with an index of positions.

interface NamedValue {
  readonly name: string;
  readonly value: number;
  /** When it was set: grows with each. */
  readonly order: number;
}

/** Numbers by name, of which the largest is known; of equal ones that which was set first. */
export class IndexedHeap {
  /** Heap order: no entry comes before its parent, at half its index. */
  readonly #entries: NamedValue[] = [];
  readonly #places = new Map<string, number>();
  #order = 0;

  /** Sets the number of a name; undefined removes it. */
  set(name: string, value: number | undefined): void {
    const place = this.#places.get(name);
    if (place !== undefined) this.#remove(name, place);
    if (value === undefined) return;
    this.#put({ name, value, order: this.#order++ }, this.#entries.length);
    this.#rise(this.#entries.length - 1);
  }

  /** Returns the number of a name; undefined if it has none. */
  get(name: string): number | undefined {
    const place = this.#places.get(name);
    return place === undefined ? undefined : this.#entries[place]?.value;
  }

  /** Returns a name with the largest number; undefined if there is none. */
  first(): { readonly name: string; readonly value: number } | undefined {
    return this.#entries[0];
  }

  /** Returns the largest number of all names except `name`; undefined if there is none. */
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

  #put(entry: NamedValue, place: number): void {
    this.#entries[place] = entry;
    this.#places.set(entry.name, place);
  }

  #rise(from: number): void {
    for (let place = from; place > 0; ) {
      const above = (place - 1) >> 1;
      if (!this.#swapIfBefore(place, above)) return;
      place = above;
    }
  }

  #sink(from: number): void {
    for (let place = from; ; ) {
      const left = 2 * place + 1;
      const first = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#swapIfBefore(first, place)) return;
      place = first;
    }
  }

  /** Swaps the two if the lower one comes first; returns true if it did. */
  #swapIfBefore(lower: number, upper: number): boolean {
    const [below, above] = [this.#entries[lower], this.#entries[upper]];
    if (below === undefined || above === undefined || !this.#isBefore(lower, upper)) return false;
    this.#put(below, upper);
    this.#put(above, lower);
    return true;
  }

  #isBefore(one: number, other: number): boolean {
    const [first, second] = [this.#entries[one], this.#entries[other]];
    if (first === undefined || second === undefined) return false;
    return first.value > second.value || (first.value === second.value && first.order < second.order);
  }
}

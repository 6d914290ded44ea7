// A FIFO line of unique names. Removing a name at any place costs the same however long the line is.

/** Places of names that have left, beyond which a line is written anew. */
const GAPS_MAX = 1_024;

/** A FIFO line that holds each name once. */
export class Line {
  /** By name, its place; in the order of the places. */
  readonly #places = new Map<string, number>();
  /** The name of each place, from `#begin` on. It counts only where {@link #places} says the same. */
  #names: string[] = [];
  #first = 0;

  get size(): number {
    return this.#places.size;
  }

  has(name: string): boolean {
    return this.#places.has(name);
  }

  /** Appends a name, unless it stands in the line already. */
  add(name: string): void {
    if (this.#places.has(name)) return;
    if (this.#names.length > 2 * this.#places.size + GAPS_MAX) this.#compact();
    this.#places.set(name, this.#names.length);
    this.#names.push(name);
  }

  /** Removes a name at any place. */
  delete(name: string): void {
    this.#places.delete(name);
  }

  /** Removes and returns the name that has waited longest; undefined if the line is empty. */
  shift(): string | undefined {
    const [first] = this.first(1);
    if (first !== undefined) this.delete(first);
    return first;
  }

  /** Returns the first names, at most `count`. */
  first(count: number): readonly string[] {
    const found: string[] = [];
    for (let place = this.#first; place < this.#names.length && found.length < count; place += 1) {
      const name = this.#names[place] ?? '';
      if (this.#places.get(name) === place) found.push(name);
      else if (place === this.#first) this.#first += 1;
    }
    return found;
  }

  /** Removes all. */
  clear(): void {
    this.#places.clear();
    this.#compact();
  }

  #compact(): void {
    this.#names = [...this.#places.keys()];
    for (const [place, name] of this.#names.entries()) this.#places.set(name, place);
    this.#first = 0;
  }
}

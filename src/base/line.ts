// A FIFO line of unique names.

/** A FIFO line that holds each name once. */
export class Line {
  readonly #names = new Set<string>();
  /** At the first name: a new iterator would pass over the places of all removed ones. */
  #next = this.#names.values();

  get size(): number {
    return this.#names.size;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Appends a name, unless it stands in the line already. */
  add(name: string): void {
    this.#names.add(name);
  }

  /** Removes a name at any place. */
  delete(name: string): void {
    this.#names.delete(name);
  }

  /** Removes and returns the name that has waited longest; undefined if the line is empty. */
  shift(): string | undefined {
    let { value: first } = this.#next.next();
    if (first === undefined) {
      this.#next = this.#names.values();
      first = this.#next.next().value;
    }
    if (first !== undefined) this.delete(first);
    return first;
  }

  /** Returns the first names, at most `count`. */
  first(count: number): readonly string[] {
    return this.#names.values().take(count).toArray();
  }

  /** Removes all. */
  clear(): void {
    this.#names.clear();
  }
}

// Names that wait in a line. Each stands in it once, and taking the first costs the same however long the line is.

export class NameLine {
  readonly #names = new Set<string>();
  /** All that it has passed were taken, or are `#first`. It is kept, for a new one would walk over the gaps that they have left. */
  #walk = this.#names.values();
  /** The name that was looked at and not taken. */
  #first: string | undefined;

  get size(): number {
    return this.#names.size;
  }

  /** Returns whether a name stands in the line. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Puts a name at the end, unless it stands in the line already. */
  add(name: string): void {
    this.#names.add(name);
  }

  /** Returns the one that has waited longest, and leaves it where it is; undefined where nobody waits. */
  first(): string | undefined {
    if (this.#first !== undefined) return this.#first;
    let first = this.#walk.next();
    if (first.done) {
      // One that came to the end stays there, whoever came since.
      this.#walk = this.#names.values();
      first = this.#walk.next();
    }
    this.#first = first.value;
    return this.#first;
  }

  /** Removes and returns the one that has waited longest; undefined where nobody waits. */
  take(): string | undefined {
    const first = this.first();
    if (first !== undefined) this.delete(first);
    return first;
  }

  /** Removes a name, wherever it stands. */
  delete(name: string): void {
    this.#names.delete(name);
    if (name === this.#first) this.#first = undefined;
  }

  /** Removes all. */
  clear(): void {
    this.#names.clear();
    this.#first = undefined;
  }
}

// Names that wait in a line. Each stands in it once, and taking the first costs the same however long the line is.

export class NameLine {
  readonly #names = new Set<string>();
  /** All that it has passed were taken. It is kept, for a new one would walk over the gaps that they have left. */
  #walk = this.#names.values();

  get size(): number {
    return this.#names.size;
  }

  /** Puts a name at the end, unless it stands in the line already. */
  add(name: string): void {
    this.#names.add(name);
  }

  /** Removes and returns the one that has waited longest; undefined where nobody waits. */
  take(): string | undefined {
    let first = this.#walk.next();
    if (first.done) {
      // One that came to the end stays there, whoever came since.
      this.#walk = this.#names.values();
      first = this.#walk.next();
    }
    if (first.done) return undefined;
    this.#names.delete(first.value);
    return first.value;
  }

  clear(): void {
    this.#names.clear();
  }
}

// A FIFO queue of unique names. Taking the first one costs the same however long the queue is.

/** A FIFO queue that holds each name once. */
export class NameLine {
  readonly #names = new Set<string>();
  /**
   * Every name before its position was taken, or is `#first`. The iterator is kept, since a new one would walk over the
   * gaps of taken names.
   */
  #walk = this.#names.values();
  /** The name that was read and not taken. */
  #first: string | undefined;

  get size(): number {
    return this.#names.size;
  }

  /** Returns true if the queue holds a name. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Returns the names in order. */
  names(): SetIterator<string> {
    return this.#names.values();
  }

  /** Appends a name, unless it is queued already. */
  add(name: string): void {
    this.#names.add(name);
  }

  /** Returns the name that has waited longest, and keeps it; undefined if the queue is empty. */
  first(): string | undefined {
    if (this.#first !== undefined || this.#names.size === 0) return this.#first;
    let first = this.#walk.next();
    if (first.done) {
      // An iterator that has ended stays ended, although names were added since.
      this.#walk = this.#names.values();
      first = this.#walk.next();
    }
    this.#first = first.value;
    return this.#first;
  }

  /** Removes and returns the name that has waited longest; undefined if the queue is empty. */
  take(): string | undefined {
    const first = this.first();
    if (first !== undefined) this.delete(first);
    return first;
  }

  /** Removes a name at any position. */
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

// FIFO queues of unique names. Removing the first one costs the same however long the queue is.

/** A FIFO queue that holds each name once. */
export class NameQueue {
  readonly #names = new Set<string>();
  /**
   * Every name before its position was removed, or is `#first`. The iterator is kept, since a new one would walk over the
   * gaps of removed names; but not for long where it stays at its position, since it keeps all former tables of the set in
   * memory.
   */
  #walk: SetIterator<string> | undefined;
  /** Number of names that were added since the iterator went on. */
  #added = 0;
  /** The name that was read and not removed. */
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
    this.#added += 1;
    if (this.#added > this.#names.size) this.#walk = undefined;
  }

  /** Returns the name that has waited longest, and keeps it; undefined if the queue is empty. */
  first(): string | undefined {
    if (this.#first !== undefined || this.#names.size === 0) return this.#first;
    // An iterator that has ended stays ended, although names were added since.
    const next = this.#walk?.next();
    if (next === undefined || next.done) this.#walk = this.#names.values();
    this.#first = next?.value ?? this.#walk?.next().value;
    this.#added = 0;
    return this.#first;
  }

  /** Removes and returns the name that has waited longest; undefined if the queue is empty. */
  removeFirst(): string | undefined {
    const first = this.first();
    if (first !== undefined) this.delete(first);
    return first;
  }

  /** Removes a name at any position. Returns true if it was queued. */
  delete(name: string): boolean {
    if (name === this.#first) this.#first = undefined;
    return this.#names.delete(name);
  }

  /** Removes all. */
  clear(): void {
    this.#names.clear();
    this.#first = undefined;
  }
}

/** FIFO queues by key; an empty one is dropped. */
export class NameQueues {
  readonly #queues = new Map<string, NameQueue>();
  #size = 0;

  /** Number of names in all queues; a name counts in each that it is in. */
  get size(): number {
    return this.#size;
  }

  /** Returns the keys of the queues that hold a name. */
  keys(): MapIterator<string> {
    return this.#queues.keys();
  }

  /** Returns the number of names in a queue. */
  count(key: string): number {
    return this.#queues.get(key)?.size ?? 0;
  }

  /** Returns the names of a queue in order. */
  names(key: string): IteratorObject<string> {
    return this.#queues.get(key)?.names() ?? NO_NAMES.values();
  }

  /** Returns the name that has waited longest, and keeps it; undefined if the queue is empty. */
  first(key: string): string | undefined {
    return this.#queues.get(key)?.first();
  }

  /** Appends a name to a queue, unless it is queued there already. */
  add(key: string, name: string): void {
    const queue = this.#queues.get(key) ?? new NameQueue();
    this.#queues.set(key, queue);
    this.#size -= queue.size;
    queue.add(name);
    this.#size += queue.size;
  }

  /** Removes a name from a queue. Returns true if it was queued there. */
  delete(key: string, name: string): boolean {
    const queue = this.#queues.get(key);
    if (queue?.delete(name) !== true) return false;
    this.#size -= 1;
    if (queue.size === 0) this.#queues.delete(key);
    return true;
  }

  /** Removes and returns the name that has waited longest; undefined if the queue is empty. */
  removeFirst(key: string): string | undefined {
    const first = this.first(key);
    if (first !== undefined) this.delete(key, first);
    return first;
  }
}

const NO_NAMES: readonly string[] = [];

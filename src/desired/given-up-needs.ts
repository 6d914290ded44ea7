// Tracks units whose newest version needs a server that the newest version of its owner gives up. If the owner is
// pinned in the end, the server stays: so these units wait until the owner is decided.

/** The units that wait for an owner that is not decided, by owner and by unit. */
export class GivenUpNeeds {
  /** The owner that each of these units waits for. */
  readonly #owners = new Map<string, string>();
  readonly #waiters = new Map<string, Set<string>>();
  /** Units whose owner is not checked yet for waiting itself. */
  readonly #unasked = new Set<string>();

  get size(): number {
    return this.#owners.size;
  }

  /** Notes a unit that needs a server of `owner`. */
  add(key: string, owner: string): void {
    this.remove(key);
    this.#owners.set(key, owner);
    const waiters = this.#waiters.get(owner);
    if (waiters === undefined) this.#waiters.set(owner, new Set([key]));
    else waiters.add(key);
    this.#unasked.add(key);
  }

  /** Notes that a unit is decided. */
  remove(key: string): void {
    const owner = this.#owners.get(key);
    if (owner === undefined) return;
    this.#owners.delete(key);
    this.#waiters.get(owner)?.delete(key);
    this.#unasked.delete(key);
    for (const waiter of this.waitersOf(key)) this.#unasked.add(waiter);
  }

  /** Returns the units that need a server of this one. */
  waitersOf(owner: string): Iterable<string> {
    return this.#waiters.get(owner) ?? [];
  }

  /** Returns units whose owner gives the server up for good; if all wait for each other, one unit of a cycle. */
  takeDecided(): readonly string[] {
    const decided = [...this.#unasked].filter((key) => {
      const owner = this.#owners.get(key);
      return owner === key || owner === undefined || !this.#owners.has(owner);
    });
    this.#unasked.clear();
    return decided.length > 0 || this.#owners.size === 0 ? decided : [this.#oneOfCircle()];
  }

  #oneOfCircle(): string {
    const seen = new Set<string>();
    let [key = ''] = this.#owners.keys();
    while (!seen.has(key)) {
      seen.add(key);
      key = this.#owners.get(key) ?? key;
    }
    return key;
  }
}

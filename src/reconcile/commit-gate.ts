// Separates passes, which write single rows concurrently, from activation, which writes many rows in one transaction,
// so that changing rows do not starve the activation of a commit.

/** A lock with shared and exclusive sections. A waiting exclusive section goes before new shared ones. */
export class CommitGate {
  #shared = 0;
  /** The last requested exclusive section. All later work waits for it. */
  #exclusive: Promise<void> = Promise.resolve();
  #exclusiveWaiting = 0;
  #emptied: () => void = () => undefined;

  /** True while exclusive work runs or waits. */
  get isExclusive(): boolean {
    return this.#exclusiveWaiting > 0;
  }

  /** Runs `work` concurrently with other shared work, but never with exclusive work. */
  async shared<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#exclusiveWaiting > 0) await this.#exclusive;
    this.#shared += 1;
    try {
      return await work();
    } finally {
      this.#shared -= 1;
      if (this.#shared === 0) this.#emptied();
    }
  }

  /** Runs `work` alone. */
  async exclusive<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = this.#exclusive;
    const ended = Promise.withResolvers<void>();
    this.#exclusive = ended.promise;
    this.#exclusiveWaiting += 1;
    try {
      await before;
      if (this.#shared > 0) await new Promise<void>((resolve) => (this.#emptied = resolve));
      return await work();
    } finally {
      this.#exclusiveWaiting -= 1;
      ended.resolve();
    }
  }
}

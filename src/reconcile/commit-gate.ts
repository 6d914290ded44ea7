// Many passes write a row each at once; a new commit writes many rows together. The gate keeps the two apart, so that
// taking a commit is never starved by rows that change all the time.

export class CommitGate {
  #shared = 0;
  /** The last exclusive turn that was asked for; everything that comes later waits for it. */
  #exclusive: Promise<void> = Promise.resolve();
  #exclusiveWaiting = 0;
  #emptied: () => void = () => undefined;

  /** Runs `work` beside others of its kind, but never beside an exclusive turn. */
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

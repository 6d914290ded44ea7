// What was started, and how each part is let go of.

/** Parts that were started. They are let go of last one first, as the others depend on the earlier ones. */
export class Opened {
  readonly #closers: (() => Promise<void>)[] = [];
  #closing: Promise<void> | undefined;

  add<Part>(part: Part, close: (part: Part) => Promise<void>): Part {
    this.#closers.push(() => close(part));
    return part;
  }

  /** Closes all of them, also where one fails; then throws the first failure. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closers.reverse()) {
      await close().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
}

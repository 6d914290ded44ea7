// Limits how many calls to providers run at once. The only file that imports p-queue; servers wait for capacity
// elsewhere.
import PQueue from 'p-queue';

/** Runs at most `concurrency` calls at once, in the order of asking. */
export class CallQueue {
  readonly #queue: PQueue;

  constructor(concurrency: number) {
    this.#queue = new PQueue({ concurrency });
  }

  /** Runs `call` in a slot. It must not throw. */
  run(call: () => Promise<void>): void {
    void this.#queue.add(call);
  }

  /** Resolves when no call runs. */
  async idle(): Promise<void> {
    await this.#queue.onIdle();
  }
}

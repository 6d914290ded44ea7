// Lets others have their turn during work that reads one object after the other, however long each takes.
import { setImmediate } from 'node:timers/promises';

/** Work goes on for so long before others have their turn. */
const TURN_MS = 20;

export class Turns {
  #since = performance.now();

  /** Resolves at once, or after the others' turn where it is time for that. To be awaited between two steps of the work. */
  async next(): Promise<void> {
    if (performance.now() - this.#since < TURN_MS) return;
    await setImmediate();
    this.#since = performance.now();
  }
}

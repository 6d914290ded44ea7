// Records what people ask for single servers, for the watchers: it explains what happens to these servers.
import type { Scheduler } from './scheduler.ts';

/** How long a request may wait until its row is written: the disk may be full for a minute. */
const WRITTEN_MS_MAX = 300_000;

export class Asked {
  readonly #scheduler: Scheduler;
  readonly #times = new Map<string, number>();
  /** Servers that people have had forgotten, and that no commit has wanted since. */
  readonly retained = new Set<string>();
  /** Asked to be retained, without an answer: a controller that is killed has saved the request, or has not. */
  readonly retaining = new Set<string>();
  /** Servers that people have asked to replace, until they are gone. */
  readonly replaced = new Set<string>();
  /** Those of them whose replacement was accepted, until a commit changes them: their deletes do not count. */
  readonly uncounted = new Set<string>();
  /** Instances that people have asked to delete over REST. */
  readonly deletes = new Set<string>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Notes a request that may have the server changed. */
  note(server: string): void {
    this.#times.set(server, this.#scheduler.now);
  }

  /** Returns true if a request of the last minutes explains a change of the server's row. */
  explains(server: string): boolean {
    const time = this.#times.get(server);
    return time !== undefined && this.#scheduler.now - time <= WRITTEN_MS_MAX;
  }
}

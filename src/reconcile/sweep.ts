// The safety net below all wake-ups: slowly, again and again, it looks whether a server could go on that nobody woke.
// There should be none; each is a defect of Treeline, is counted and told, and goes on from there.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { ServerRow } from '../model/rows.ts';

/** From the end of one round over all servers to the start of the next. */
export const SWEEP_MS = 300_000;
/** How many servers are looked at together, and how long it is to the next ones: a round is never a burst. */
export const SLICE_SERVERS = 500;
export const SLICE_MS = 1_000;

export interface SweepOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Names of all recorded servers. */
  readonly servers: () => Iterable<string>;
  /**
   * Returns the row of a server that could go on now and stands still all the same: nobody has asked for a look at it,
   * and it waits for no time.
   */
  readonly idleRow: (server: string) => ServerRow | undefined;
  readonly wake: (server: string) => void;
}

export class Sweep {
  readonly #options: SweepOptions;
  /** What is left of the round. */
  #rest: string[] = [];
  /**
   * Servers that could go on when they were looked at, with their rows. What was on its way at that moment has changed
   * the row, or begun a call, by the time of the next slice.
   */
  #suspects = new Map<string, ServerRow>();
  #missed = 0;
  #cancel: () => void;
  #isStopped = false;

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#cancel = options.clock.after(SWEEP_MS, () => this.#begin());
  }

  /** How many servers it had to wake. */
  get missed(): number {
    return this.#missed;
  }

  /** Looks no more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #begin(): void {
    this.#rest = [...this.#options.servers()];
    this.#slice();
  }

  #slice(): void {
    if (this.#isStopped) return;
    this.#wakeSuspects();
    for (const server of this.#rest.splice(-SLICE_SERVERS)) {
      const row = this.#options.idleRow(server);
      if (row !== undefined) this.#suspects.set(server, row);
    }
    const isThrough = this.#rest.length === 0 && this.#suspects.size === 0;
    const { clock } = this.#options;
    this.#cancel = isThrough ? clock.after(SWEEP_MS, () => this.#begin()) : clock.after(SLICE_MS, () => this.#slice());
  }

  #wakeSuspects(): void {
    const { idleRow, log, wake } = this.#options;
    for (const [server, row] of this.#suspects) {
      if (idleRow(server) !== row) continue;
      this.#missed += 1;
      log.warn({ server, state: row.state, missed: this.#missed }, 'a server could go on and was not woken');
      wake(server);
    }
    this.#suspects.clear();
  }
}

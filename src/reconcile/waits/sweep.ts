// Searches all servers periodically for those that could continue and were not woken, as a safety net below all
// wake-ups. There should be none; each is a defect of Treeline, and is counted, logged and enqueued.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { CommitGate } from '../commit-gate.ts';

/** Pause between the end of one sweep over all servers and the start of the next. */
export const SWEEP_MS = 300_000;
/** Servers per slice, and the pause between slices, so that a sweep is never a burst. */
export const SLICE_SERVERS = 500;
/** The interval between two slices of a sweep. */
export const SLICE_MS = 1_000;

interface SweepOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly gate: Pick<CommitGate, 'isExclusive'>;
  /** Names of all recorded servers. */
  readonly servers: () => Iterable<string>;
  /** Returns the row of a server that could continue and is idle: it is not in the queue and waits for no time. */
  readonly idleRow: (server: string) => ServerRow | undefined;
  readonly wake: (server: string) => void;
}

/** Examines all servers, slice by slice. */
export class Sweep {
  readonly #options: SweepOptions;
  /** The servers of this sweep that are still to be checked. */
  #rest: string[] = [];
  /**
   * Servers that could continue when they were checked, with their rows. If they were about to be woken then, the row
   * has changed, or a call is in flight, by the next slice.
   */
  #suspects = new Map<string, ServerRow>();
  #missed = 0;
  #cancel: () => void;
  #isStopped = false;

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#cancel = options.clock.after(SWEEP_MS, () => this.#begin());
  }

  /** Number of servers that the sweep had to wake. */
  get missed(): number {
    return this.#missed;
  }

  /** Ends the sweep. */
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
    const { clock, gate } = this.#options;
    // Servers that a commit concerns may not be enqueued yet while it is activated.
    if (gate.isExclusive) {
      this.#cancel = clock.after(SLICE_MS, () => this.#slice());
      return;
    }
    this.#wakeSuspects();
    for (const server of this.#rest.splice(-SLICE_SERVERS)) {
      const row = this.#options.idleRow(server);
      if (row !== undefined) this.#suspects.set(server, row);
    }
    const isThrough = this.#rest.length === 0 && this.#suspects.size === 0;
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

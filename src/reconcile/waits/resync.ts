// Enqueues all servers that are not idle or delayed at intervals, as a safety net for wake-ups. A server that could
// continue but was not enqueued is a defect of Treeline, so it is counted and logged.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import { isIdle } from '../../machine/drift.ts';
import type { CommitGate } from '../commit-gate.ts';
import type { Ledger } from '../ledger.ts';
import type { Queue } from '../queue.ts';

/** Pause between two resyncs. */
export const RESYNC_MS = 30_000;
/** The pause while servers are about to be enqueued, such as during an activation. */
const BUSY_MS = 1_000;

interface ResyncOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly ledger: Pick<Ledger, 'list' | 'server' | 'isFollowing'>;
  readonly gate: Pick<CommitGate, 'isExclusive'>;
  readonly queue: Pick<Queue, 'add' | 'has' | 'hasDue'>;
  /** Returns true once servers may be examined. */
  readonly isActive: () => boolean;
  /** Omitted: nothing is counted. */
  readonly metrics?: Metrics | undefined;
}

/** Enqueues servers at intervals, and counts those that should have been enqueued before. */
export class Resync {
  readonly #options: ResyncOptions;
  /** Servers that only the resync has enqueued. */
  readonly #added = new Set<string>();
  #missed = 0;
  #cancel: () => void;

  constructor(options: ResyncOptions) {
    this.#options = options;
    this.#cancel = options.clock.after(RESYNC_MS, () => this.#run());
  }

  /** The number of servers that could continue only because of the resync. */
  get missed(): number {
    return this.#missed;
  }

  /** Records that something else has enqueued a server. */
  enqueued(server: string): void {
    this.#added.delete(server);
  }

  /** Returns true if only the resync caused the pass over a server that begins now. */
  begins(server: string): boolean {
    return this.#added.delete(server);
  }

  /** Counts and logs a server that could continue and that only the resync has enqueued. */
  found(server: string): void {
    const { log, ledger, metrics } = this.#options;
    this.#missed += 1;
    metrics?.count('treeline_resync_woken_total', {});
    log.warn({ server, state: ledger.server(server)?.state }, 'a server could continue but was not enqueued');
  }

  /** Ends the resync. */
  stop(): void {
    this.#cancel();
  }

  #run(): void {
    const { clock, gate, ledger, queue, isActive } = this.#options;
    // Names that are due must be enqueued before the servers that wait for them count as missed.
    const isBusy = gate.isExclusive || ledger.isFollowing || queue.hasDue;
    this.#cancel = clock.after(isBusy ? BUSY_MS : RESYNC_MS, () => this.#run());
    if (isBusy || !isActive()) return;
    for (const [server, row] of ledger.list('server')) {
      if (isIdle(row) || queue.has(server)) continue;
      this.#added.add(server);
      queue.add(server);
    }
  }
}

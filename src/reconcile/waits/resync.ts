// Adds all unsettled servers that wait for no time to the queue now and then, as a safety net below all
// wake-ups: a server that could continue and was not enqueued is a defect of Treeline. It is counted and logged.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import { isAtRest } from '../../machine/drift.ts';
import type { CommitGate } from '../commit-gate.ts';
import type { Ledger } from '../ledger.ts';
import type { Queue } from '../queue.ts';

/** Pause between two resyncs. */
export const RESYNC_MS = 30_000;
/** The pause where servers are about to be enqueued, as while a commit is activated. */
const BUSY_MS = 1_000;

interface ResyncOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly ledger: Pick<Ledger, 'list' | 'server' | 'isFollowing'>;
  readonly gate: Pick<CommitGate, 'isExclusive'>;
  readonly queue: Pick<Queue, 'add' | 'has' | 'hasDue'>;
  /** Returns true once servers may be examined. */
  readonly isActive: () => boolean;
  /** Left out: nothing counts. */
  readonly metrics?: Metrics | undefined;
}

/** The resync, and what it has found. */
export class Resync {
  readonly #options: ResyncOptions;
  /** Servers that nothing but the resync has enqueued. */
  readonly #added = new Set<string>();
  #missed = 0;
  #cancel: () => void;

  constructor(options: ResyncOptions) {
    this.#options = options;
    this.#cancel = options.clock.after(RESYNC_MS, () => this.#run());
  }

  /** Number of servers that only the resync has let continue. */
  get missed(): number {
    return this.#missed;
  }

  /** Notes that something else has enqueued a server. */
  enqueued(server: string): void {
    this.#added.delete(server);
  }

  /** Returns whether nothing but the resync has led to the pass over a server that begins. */
  begins(server: string): boolean {
    return this.#added.delete(server);
  }

  /** Notes that a server could continue that only the resync has enqueued. */
  found(server: string): void {
    const { log, ledger, metrics } = this.#options;
    this.#missed += 1;
    metrics?.count('treeline_resync_woken_total', {});
    log.warn({ server, state: ledger.server(server)?.state }, 'a server could go on and was not enqueued');
  }

  /** Ends the resync. */
  stop(): void {
    this.#cancel();
  }

  #run(): void {
    const { clock, gate, ledger, queue, isActive } = this.#options;
    // Whose time comes right now goes before those that wait for it.
    const isBusy = gate.isExclusive || ledger.isFollowing || queue.hasDue;
    this.#cancel = clock.after(isBusy ? BUSY_MS : RESYNC_MS, () => this.#run());
    if (isBusy || !isActive()) return;
    for (const [server, row] of ledger.list('server')) {
      if (isAtRest(row) || queue.has(server)) continue;
      this.#added.add(server);
      queue.add(server);
    }
  }
}

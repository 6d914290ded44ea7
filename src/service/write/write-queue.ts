// Queues all writes of the branch and publishes waiting writes together, so that twenty writers cost little more than
// one. publish-batch.ts publishes a batch.

import { within } from '../../base/clock.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { LabelsOf } from '../../model/metrics.ts';
import { ServiceError, type ServiceErrorCode } from '../../model/service-error.ts';
import type { Draft, WriteOrder, WriteResult } from './draft.ts';
import {
  abandon,
  type BeforePush,
  GIVE_UP_MS,
  nothingWritten,
  type PendingWrite,
  pendingWrite,
} from './pending-write.ts';
import { type PublishParts, publishBatch } from './publish-batch.ts';

const WAITING_OF_CLIENT_MAX = 100;
const BATCH_MAX = 50;

interface QueueParts extends PublishParts {
  /** Counts writes. Omitted: writes are not counted. */
  readonly metrics?: Metrics | undefined;
}

/** The writes that wait for a push. */
export class WriteQueue {
  readonly #parts: QueueParts;
  /** The oldest first. */
  readonly #waiting: PendingWrite[] = [];
  #batch: readonly PendingWrite[] = [];
  #draining: Promise<void> | undefined;
  #isStopping = false;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** The target of writes; see {@link PublishParts}. */
  get mode(): PublishParts['mode'] {
    return this.#parts.mode;
  }

  /**
   * Resolves when the write is on the remote and followed here. `beforePush` runs before each push, but not for a
   * proposal. Throws ServiceError.
   */
  async submit(draft: Draft, order: WriteOrder, beforePush?: BeforePush): Promise<WriteResult> {
    if (this.#isStopping) throw new ServiceError('not_ready', 'The controller is stopping; nothing was written');
    const own = this.#waiting.filter((write) => write.order.by.serial === order.by.serial);
    if (own.length >= WAITING_OF_CLIENT_MAX) {
      const message = `${WAITING_OF_CLIENT_MAX} writes of this client wait already; ask again once one of them is answered`;
      throw new ServiceError('too_many_requests', message);
    }
    const write = pendingWrite({ draft, order, beforePush }, this.#parts.clock);
    this.#waiting.push(write);
    this.#draining ??= this.#drain();
    // The earlier batch may take longer. A write in a batch gives up there.
    const cancel = this.#parts.clock.after(GIVE_UP_MS, () => {
      const at = this.#waiting.indexOf(write);
      if (at !== -1) this.#waiting.splice(at, 1)[0]?.reject(nothingWritten());
    });
    try {
      const written = await write.promise;
      this.#parts.metrics?.count('treeline_writes_total', { outcome: 'written' });
      return written;
    } catch (error) {
      this.#parts.metrics?.count('treeline_writes_total', { outcome: failureOf(error) });
      throw error;
    } finally {
      cancel();
    }
  }

  /**
   * Accepts no more writes, rejects waiting ones, and waits up to `withinMs` for the current batch; not at all if
   * another process leads.
   */
  async stop(withinMs: number): Promise<void> {
    this.#isStopping = true;
    const { clock, leads } = this.#parts;
    for (const write of this.#waiting.splice(0)) abandon(write);
    // This process cannot follow the pushed commits any more, and has to end this role before it can lead again.
    const waitMs = leads?.() === false ? 0 : withinMs;
    await within(clock, waitMs, this.#draining ?? Promise.resolve());
    for (const write of this.#batch) abandon(write);
  }

  async #drain(): Promise<void> {
    // Writes of the same turn of the event loop share a batch.
    await Promise.resolve();
    const batchMax = this.#parts.mode === 'commit' ? BATCH_MAX : 1;
    while (this.#waiting.length > 0) {
      this.#batch = this.#waiting.splice(0, batchMax);
      await publishBatch(this.#parts, this.#batch);
    }
    this.#draining = undefined;
  }
}

type WriteFailure = Exclude<LabelsOf<'treeline_writes_total'>['outcome'], 'written'>;

const FAILURES: Readonly<Partial<Record<ServiceErrorCode, WriteFailure>>> = {
  conflict: 'conflict',
  precondition_failed: 'conflict',
  not_ready: 'unavailable',
  internal: 'unavailable',
  outcome_unknown: 'unknown',
};

/** Returns the metric label of a write that failed or whose outcome is unknown. */
function failureOf(error: unknown): WriteFailure {
  return error instanceof ServiceError ? (FAILURES[error.code] ?? 'refused') : 'unavailable';
}

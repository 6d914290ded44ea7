// Wires the parts that write to the repository, and those that wait until what was written is followed.

import type { Breathe } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Safety } from '../desired/admit.ts';
import type { CurrentState } from '../follow/current-state.ts';
import type { Follower } from '../follow/follower.ts';
import type { Settings } from '../model/settings.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { RowRequests } from '../reconcile/row-requests.ts';
import type { Publisher } from '../repository/publisher.ts';
import type { Source } from '../repository/source.ts';
import { type CommitWait, createCommitWait } from '../service/read/commit-wait.ts';
import { createPreview } from '../service/write/preview.ts';
import { WriteQueue } from '../service/write/write-queue.ts';
import { createWriter, type Writer } from '../service/write/writer.ts';

/** The inputs of {@link wireWrites}. */
interface WritesParts {
  readonly writes: Settings['repository']['writes'];
  readonly source: Source;
  readonly publisher: Publisher;
  readonly current: CurrentState;
  readonly follower: Follower;
  readonly ledger: Ledger;
  readonly requests: RowRequests;
  /** Returns the facts that decide which deletes may happen now. */
  readonly safety: () => Safety;
  /** Judges again what is held. */
  readonly review: () => void;
  readonly clock: Clock;
  readonly breathe: Breathe;
  readonly metrics?: Metrics | undefined;
  /** Returns whether this process leads, decided at the moment of the call. Left out: it always does. */
  readonly leads?: (() => boolean) | undefined;
}

/** The parts that write, and that wait for commits. */
interface WiredWrites {
  readonly writer: Writer;
  readonly commits: CommitWait;
  /** Ends reads that wait for a commit, refuses new writes, and waits for the writes in progress. */
  stop(): Promise<void>;
}

/** How long writes in progress may take to end when the controller stops. */
const STOP_WRITING_MS = 8_000;

/** Returns the writer of the followed branch, with its queue, and the reads that wait for a commit. */
export function wireWrites(parts: WritesParts): WiredWrites {
  const {
    writes,
    source,
    publisher,
    follower: branch,
    current,
    ledger,
    requests,
    safety,
    review,
    clock,
    breathe,
    metrics,
    leads,
  } = parts;
  const mode = writes === 'propose' ? 'propose' : 'commit';
  const queue = new WriteQueue({ branch, source, publisher, clock, breathe, metrics, mode, leads });
  const writer = createWriter({
    queue: writes === 'off' ? undefined : queue,
    preview: createPreview({ branch, clock, safety }),
    approveDeletes: (instance, { by, refusal }) => requests.approveDeletes(instance, { by: by.serial, refusal }),
    isTerminating: (instance) => ledger.read('terminating', instance) !== undefined,
    recorded: ledger,
    review,
  });
  const commits = createCommitWait({
    newest: () => branch.newest(),
    isAncestor: (ancestor, descendant) => source.isAncestor(ancestor, descendant),
    desired: () => current.get(),
    refused: () => current.refused,
    clock,
  });
  const stop = (): Promise<void> => {
    commits.stop();
    return queue.stop(STOP_WRITING_MS);
  };
  return { writer, commits, stop };
}

// Follows the branch: polls it on request, follows the newest commit, and answers the requests that wait for a commit.
// branch-poll.ts makes one poll.
import { randomUUID } from 'node:crypto';
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import { reasonOf, toRfc3339 } from '../base/wording.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import type { Writings } from '../model/writing.ts';
import { Queue } from '../reconcile/queue.ts';
import type { Trigger } from '../repository/source.ts';
import { Arrivals } from './arrivals.ts';
import { BranchPoll, type BranchPollOptions } from './branch-poll.ts';
import { CommitProgress } from './commit-rows.ts';
import { HEAD } from './object-rows.ts';
import { OwnPushes } from './own-pushes.ts';

/** The pause after a failed poll, unless a poll is requested. It doubles with each failure. */
const RETRY_MS = 5_000;
/** Some hosts lock an account after too many wrong passwords. */
const RETRY_MS_MAX = 120_000;
const BRANCH = 'branch';

interface FollowerOptions extends Omit<BranchPollOptions, 'pushes' | 'signal'> {
  readonly triggers: readonly Trigger[];
  readonly log: Logger;
  /** Returns whether this process leads now. If it does not, failures are not errors. Omitted: it always leads. */
  readonly leads?: (() => boolean) | undefined;
}

/** Polls the branch, and follows each new commit. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #queue: Queue;
  readonly #branch: BranchPoll;
  readonly #logOnceAMinute: LogOnceAMinute;
  readonly #arrivals: Arrivals;
  readonly #pushes = new OwnPushes();
  readonly #progress: CommitProgress;
  readonly #stopping = new AbortController();
  /** The number of consecutive failed polls. */
  #failures = 0;
  /** Since when the branch cannot be read or copied. Before the first success, the start of this process. */
  #unread: { readonly since: string } | undefined;
  /** Why the last poll could not read or copy the branch, and since when; undefined if it could. */
  failure: { readonly reason: string; readonly since: string } | undefined;

  constructor(options: FollowerOptions) {
    const { clock, current, source, reviews } = options;
    this.#options = options;
    this.#unread = { since: toRfc3339(clock.now()) };
    this.#branch = new BranchPoll({ ...options, pushes: this.#pushes, signal: this.#stopping.signal });
    this.#logOnceAMinute = logOnceAMinute(clock);
    this.#progress = new CommitProgress(options);
    this.#arrivals = new Arrivals(current, (ancestor, descendant) => source.isAncestor(ancestor, descendant));
    this.#queue = new Queue({ clock, concurrency: 1, handle: () => this.#handle() });
    reviews.listen(() => this.poll());
  }

  /** Why no commit is followed yet, or why the newest one is not, for an operator. */
  get notReadyReason(): string {
    return this.#branch.notReadyReason;
  }

  /** The desired state of the last polled head; undefined if that is not followed, or not yet. */
  get followed(): DesiredState | undefined {
    return this.#branch.followed;
  }

  start(): void {
    for (const trigger of this.#options.triggers) trigger.start(() => this.poll());
    this.poll();
  }

  /** Requests a poll of the branch. Many requests lead to one poll. */
  poll(): void {
    this.#queue.add(BRANCH);
  }

  /**
   * Resolves with the desired state once a commit, or a later one, is followed. Throws ServiceError `conflict` if the
   * polled commit is not followed, `not_ready` if the branch cannot be polled.
   */
  desiredAt(commit: string): Promise<DesiredState> {
    return this.#arrivals.wait(commit, () => this.poll());
  }

  /** Records the clients of commits that are about to be pushed. */
  announce(writings: Writings): void {
    this.#pushes.add(writings);
  }

  /**
   * Requests a poll, and resolves with the desired state of the commit that it finds; see Arrivals. Throws the errors
   * of {@link desiredAt}.
   */
  newest(): Promise<DesiredState> {
    return this.#arrivals.newest(() => this.poll());
  }

  /** Resolves with true if `head` descends from a commit that is in the local copy but not in the followed history. */
  async isBefore(commit: string, head: string): Promise<boolean> {
    const { source, ledger } = this.#options;
    const followed = ledger.read('head', HEAD)?.commit;
    if (!(await source.has(commit)) || !(await source.isAncestor(commit, head))) return false;
    const isKnown = followed !== undefined && (await source.has(followed));
    return !isKnown || !(await source.isAncestor(commit, followed));
  }

  /** Aborts a running fetch, so that a stop never waits for the remote. The source stays open. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the follower is stopped'));
    this.#arrivals.stop();
    await Promise.all(this.#options.triggers.map((trigger) => trigger.stop()));
    await this.#queue.stop();
    await this.#progress.close();
  }

  /** Never throws: this is where errors of a poll are caught. */
  async #handle(): Promise<void> {
    const operation = randomUUID();
    const log = this.#options.log.child({ operation });
    try {
      this.#arrivals.begin();
      const outcome = await this.#branch.poll({ operation, log });
      this.#options.metrics?.count('treeline_polls_total', { outcome });
      this.#failures = 0;
      this.#unread = undefined;
      this.failure = undefined;
      this.#arrivals.polled();
    } catch (error) {
      this.#arrivals.failed(error);
      if (this.#stopping.signal.aborted) return;
      this.#options.metrics?.count('treeline_polls_total', { outcome: 'failed' });
      const reason = reasonOf(error);
      this.#branch.notReadyReason = reason;
      // The store logs its own failure, and the branch was read.
      const wasRead = error instanceof Error && error.name === 'StoreError';
      this.#unread = wasRead ? undefined : (this.#unread ?? { since: toRfc3339(this.#options.clock.now()) });
      this.failure = this.#unread && { reason, ...this.#unread };
      const repeats = this.#options.leads?.() === false ? undefined : this.#logOnceAMinute(error);
      if (repeats)
        log.error({ err: error, ...repeats }, 'the repository could not be followed; everything stays as it is');
      this.#queue.addAfter(BRANCH, Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** this.#failures));
      this.#failures += 1;
    }
  }
}

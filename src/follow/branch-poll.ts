// Polls the branch: fetches its newest commit, and follows it or records why it is not followed. follower.ts decides
// when to poll, follow-commit.ts judges a commit.
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { toRfc3339 } from '../base/wording.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import { RECOVERY, recoveryChange } from '../machine/recovery.ts';
import { isError, placeAndCode } from '../model/problem.ts';
import type { Reviews } from '../reconcile/reviews.ts';
import { logProblems, type Poll } from './activate.ts';
import { refusedChanges } from './commit-rows.ts';
import { CommitFollower, type CommitFollowerOptions, isElsewhere } from './follow-commit.ts';
import { HEAD } from './object-rows.ts';

/** The parts that a poll uses. */
export interface BranchPollOptions extends CommitFollowerOptions {
  readonly reviews: Reviews;
  /** Counts polls and fetches. Omitted: they are not counted. */
  readonly metrics?: Metrics | undefined;
  /** Aborts the running fetch and later ones. */
  readonly signal: AbortSignal;
}

/** Polls the branch, one poll at a time. */
export class BranchPoll {
  readonly #options: BranchPollOptions;
  readonly #commits: CommitFollower;
  /** True once the first poll has restored what was active before the start. */
  #hasBegun = false;
  /** The last polled head, followed or not. */
  #polledHead: string | undefined;
  /** The last requested review that was made without the remote. */
  #reviewed = 0;
  /** Why the newest commit is not followed, or why nothing is followed yet; empty if it is followed. */
  notReadyReason = 'the first fetch has not ended';

  constructor(options: BranchPollOptions) {
    this.#options = options;
    this.#commits = new CommitFollower(options);
  }

  /** The desired state of the last polled head; undefined if that is not followed, or not yet. */
  get followed(): DesiredState | undefined {
    const { current } = this.#options;
    const desired = current.get();
    const isNewest = desired?.commit === this.#polledHead && current.refused === undefined;
    return isNewest ? desired : undefined;
  }

  /**
   * Polls the branch once, follows its newest commit if possible, and returns the outcome. Throws if the remote, the
   * local copy or the store fails.
   */
  async poll(poll: Poll): Promise<'unchanged' | 'followed' | 'refused'> {
    const { source, ledger, current, reviews } = this.#options;
    const recorded = ledger.read('head', HEAD);
    // If a rewritten history is held and the recorded head is lost, only a fetch can restore that head.
    const isAway = current.get() === undefined && this.#polledHead === undefined;
    if (recorded !== undefined && (isAway || !this.#hasBegun)) await this.#resume(poll);
    this.#hasBegun = true;
    // An approval is for what is held here, so it is judged before the fetch: a newer commit must not decide about it.
    if (reviews.isOpen && reviews.asked !== this.#reviewed) await this.#review(poll);
    const head = await this.#fetch(recorded?.commit ?? null);
    const { asked } = reviews;
    const isReview = reviews.isOpen || this.#isAwaitedGone();
    if (head.oid === this.#polledHead && !isReview) return 'unchanged';
    this.#polledHead = undefined;
    const isThere = recorded !== undefined && (await source.has(recorded.commit));
    if (isThere && current.get() === undefined) await this.#commits.restore(poll);
    await this.#judge(head.oid, { isReview, poll });
    // A commit with a refused signature is judged again, because the keys may change.
    this.#polledHead = current.refused?.signature === undefined ? head.oid : undefined;
    reviews.judged(asked);
    return current.refused === undefined ? 'followed' : 'refused';
  }

  async #fetch(known: string | null): ReturnType<BranchPollOptions['source']['fetch']> {
    const { source, signal, metrics } = this.#options;
    try {
      const head = await source.fetch(known, signal);
      metrics?.count('treeline_fetches_total', { outcome: 'succeeded' });
      return head;
    } catch (error) {
      if (!signal.aborted) metrics?.count('treeline_fetches_total', { outcome: 'failed' });
      throw error;
    }
  }

  /** Judges the active state and its holds again without the remote. If that fails, the fetch comes first. */
  async #review(poll: Poll): Promise<void> {
    const { current, reviews } = this.#options;
    const { asked } = reviews;
    const followed = current.get()?.commit;
    const newest = this.#polledHead ?? current.refused?.commit;
    this.#reviewed = asked;
    try {
      if (newest !== undefined) {
        await this.#judge(newest, { isReview: true, poll });
        reviews.judged(asked);
      } else if (followed !== undefined) {
        // The newest commit is not known, so the poll that finds it finishes this review.
        await this.#follow(followed, { ...poll, newest: undefined, isReview: true });
      }
    } catch (error) {
      poll.log.warn(
        { err: error },
        'the approval could not be judged with the local copy; it is judged again after the fetch',
      );
    }
  }

  /** Returns true if a server is gone whose name or capacity an instance waits for. */
  #isAwaitedGone(): boolean {
    const { ledger, current } = this.#options;
    return [...(current.get()?.awaited ?? [])].some((name) => ledger.read('server', name) === undefined);
  }

  async #judge(commit: string, { isReview, poll }: { readonly isReview: boolean; readonly poll: Poll }): Promise<void> {
    const { current, ledger, source } = this.#options;
    const recorded = ledger.read('head', HEAD);
    const isElse = recorded !== undefined && isElsewhere(recorded, source.place);
    const isNews = isReview || isElse || current.get()?.commit !== commit;
    const isFollowed = !isNews || (await this.#follow(commit, { ...poll, newest: commit }));
    const followed = current.get()?.commit;
    if (isFollowed) {
      current.catchUp();
      this.notReadyReason = '';
    } else if (isReview && followed !== undefined) {
      // Approvals for the followed commit take effect although the newest commit is not followed.
      await this.#follow(followed, { ...poll, newest: commit, isReview });
    }
  }

  /** Returns false if the commit is refused. */
  async #follow(commit: string, poll: Parameters<CommitFollower['follow']>[1]): Promise<boolean> {
    const refused = await this.#commits.follow(commit, poll);
    if (refused !== undefined) await this.#refuse(refused, poll.log);
    return refused === undefined;
  }

  /**
   * Restores the state that was active before, without the remote. If the local copy is gone, the next fetch restores
   * it.
   */
  async #resume(poll: Poll): Promise<void> {
    try {
      await this.#commits.restore(poll);
    } catch (error) {
      // This process may have shown another state as a standby.
      this.#options.current.forget();
      poll.log.warn({ err: error }, 'the followed commit is not in the local copy; fetching it');
    }
  }

  async #refuse(refused: Omit<RefusedCommit, 'since'>, log: Logger): Promise<void> {
    const { current, clock } = this.#options;
    const { commit, reason, problems, signature } = refused;
    const last = current.refused;
    if (signature !== undefined && last?.commit === commit && last.reason === reason) return;
    current.refuse({ ...refused, since: toRfc3339(clock.now()) });
    this.notReadyReason = `commit ${commit} is not followed: ${reason}`;
    logProblems(problems, log);
    log.error({ commit, reason }, 'the commit is not followed; everything stays as it is');
    if (refused.hold?.kind === 'history') await this.#beginRecovery(reason);
    await this.#recordRefused(commit, { isHeld: refused.hold !== null, reason: publicReason(refused) });
  }

  /** Records a refused commit with an event, unless it is recorded already, such as after a restart. */
  async #recordRefused(oid: string, refused: { readonly isHeld: boolean; readonly reason: string }): Promise<void> {
    const { source, ledger, gate, clock } = this.#options;
    const commit = await source.describe(oid);
    const now = clock.now();
    await gate.exclusive(async () => {
      const changes = refusedChanges(ledger, commit, { ...refused, now });
      if (changes.length > 0) await ledger.commit(changes, { kind: 'pass', now });
    });
  }

  /**
   * Begins a recovery if the followed commit cannot be derived, or if the settings name another place: an operator has
   * to decide before any action starts.
   */
  async #beginRecovery(reason: string): Promise<void> {
    const { current, clock, ledger, gate, source, reviews } = this.#options;
    const recorded = ledger.read('head', HEAD);
    const isLost = recorded !== undefined && (current.get() === undefined || isElsewhere(recorded, source.place));
    if (!isLost || ledger.read('recovery', RECOVERY) !== undefined) return;
    const now = clock.now();
    const change = recoveryChange(ledger, { cause: 'repository', reason, now, runsMs: 0 });
    await gate.exclusive(() => ledger.commit([change], { kind: 'pass', now }));
    // Deletes in progress are judged again, so that they are held.
    if (current.get() !== undefined) reviews.request();
  }
}

/** Returns the reason without messages that quote files, because proxies read events. */
function publicReason({ reason, hold, problems }: Omit<RefusedCommit, 'since'>): string {
  const first = problems.find(isError);
  return hold === null && first !== undefined ? `${placeAndCode(first)}; see treeline problems` : reason;
}

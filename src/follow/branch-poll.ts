// One poll of the branch: fetches its newest commit and has it judged and followed, or notes why it is not. follower.ts
// says when. follow-commit.ts decides about one commit.
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { momentOf } from '../base/wording.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import { RECOVERY, recoveryChange } from '../machine/recovery.ts';
import { isError, placeAndCode } from '../model/problem.ts';
import type { Reviews } from '../reconcile/reviews.ts';
import { logProblems, type Poll } from './activate.ts';
import { refusedChanges } from './commit-rows.ts';
import { CommitFollower, type CommitFollowerOptions, isElsewhere } from './follow-commit.ts';
import { HEAD } from './object-rows.ts';

/** The parts that a poll reads and changes. */
export interface BranchPollOptions extends CommitFollowerOptions {
  readonly reviews: Reviews;
  /** Counts polls and fetches. Left out: nothing does. */
  readonly metrics?: Metrics | undefined;
  /** Ends a fetch that is under way, and later ones. */
  readonly signal: AbortSignal;
}

/** Polls the branch, one poll at a time. */
export class BranchPoll {
  readonly #options: BranchPollOptions;
  readonly #commits: CommitFollower;
  /** What was active before this part was built is restored, if there is anything. */
  #hasBegun = false;
  /** The head that was polled last, followed or not. */
  #polledHead: string | undefined;
  /** The last requested review that was done without the remote. */
  #reviewed = 0;
  /** Why the newest commit is not followed, or why nothing is followed yet; empty where it is. */
  notReadyReason = 'the first fetch has not ended';

  constructor(options: BranchPollOptions) {
    this.#options = options;
    this.#commits = new CommitFollower(options);
  }

  /** The desired state of the head that was polled last; undefined where that is not followed, or not yet. */
  get followed(): DesiredState | undefined {
    const { current } = this.#options;
    const desired = current.get();
    const isNewest = desired?.commit === this.#polledHead && current.refused === undefined;
    return isNewest ? desired : undefined;
  }

  /**
   * Polls the branch once, has its newest commit followed, and returns what became of it. Throws where the remote, the
   * local copy or the store fails.
   */
  async poll(poll: Poll): Promise<'unchanged' | 'followed' | 'refused'> {
    const { source, ledger, current, reviews } = this.#options;
    const recorded = ledger.read('head', HEAD);
    // If a rewritten history is held and the recorded head is lost, only a fetch can bring that back.
    const isAway = current.get() === undefined && this.#polledHead === undefined;
    if (recorded !== undefined && (isAway || !this.#hasBegun)) await this.#resume(poll);
    this.#hasBegun = true;
    // An operator approves what is held here, so neither the remote nor a newer commit decides whether it counts.
    if (reviews.isOpen && reviews.asked !== this.#reviewed) await this.#review(poll);
    const head = await this.#fetch(recorded?.commit ?? null);
    const { asked } = reviews;
    const isReview = reviews.isOpen || this.#isAwaitedGone();
    if (head.oid === this.#polledHead && !isReview) return 'unchanged';
    this.#polledHead = undefined;
    const isThere = recorded !== undefined && (await source.has(recorded.commit));
    if (isThere && current.get() === undefined) await this.#commits.restore(poll);
    await this.#judge(head.oid, { isReview, poll });
    // The keys of a signature that is refused may change.
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

  /** Judges again what is active and what is held of it, by what is here already; where that fails, after the fetch. */
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
        // The newest commit may be another one, so this review is finished by the poll that finds it.
        await this.#follow(followed, { ...poll, newest: undefined, isReview: true });
      }
    } catch (error) {
      poll.log.warn(
        { err: error },
        'what was approved could not be judged by what is here; fetching before it is judged again',
      );
    }
  }

  /** Returns true if a server is gone for whose name or room an instance was refused. */
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
      // What is approved of the followed commit happens, although the newest one is not followed.
      await this.#follow(followed, { ...poll, newest: commit, isReview });
    }
  }

  /** Returns false where the commit is refused. */
  async #follow(commit: string, poll: Parameters<CommitFollower['follow']>[1]): Promise<boolean> {
    const refused = await this.#commits.follow(commit, poll);
    if (refused !== undefined) await this.#refuse(refused, poll.log);
    return refused === undefined;
  }

  /**
   * Serves what was active before, without the remote. If the local copy is gone, the fetch that follows restores it.
   */
  async #resume(poll: Poll): Promise<void> {
    try {
      await this.#commits.restore(poll);
    } catch (error) {
      // A standby may have shown something else.
      this.#options.current.forget();
      poll.log.warn({ err: error }, 'the followed commit is not in the local copy; fetching it');
    }
  }

  async #refuse(refused: Omit<RefusedCommit, 'since'>, log: Logger): Promise<void> {
    const { current, clock } = this.#options;
    const { commit, reason, problems, signature } = refused;
    const last = current.refused;
    if (signature !== undefined && last?.commit === commit && last.reason === reason) return;
    current.refuse({ ...refused, since: momentOf(clock.now()) });
    this.notReadyReason = `commit ${commit} is not followed: ${reason}`;
    logProblems(problems, log);
    log.error({ commit, reason }, 'the commit is not followed; everything stays as it is');
    if (refused.hold?.kind === 'history') await this.#beginRecovery(reason);
    await this.#recordRefused(commit, { isHeld: refused.hold !== null, reason: publicReason(refused) });
  }

  /** Records a refused commit and an event of that, unless it is recorded already, as after a restart. */
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
   * The followed commit cannot be derived, or the settings name another place: an operator decides before anything
   * happens.
   */
  async #beginRecovery(reason: string): Promise<void> {
    const { current, clock, ledger, gate, source, reviews } = this.#options;
    const recorded = ledger.read('head', HEAD);
    const isLost = recorded !== undefined && (current.get() === undefined || isElsewhere(recorded, source.place));
    if (!isLost || ledger.read('recovery', RECOVERY) !== undefined) return;
    const now = clock.now();
    const change = recoveryChange(ledger, { cause: 'repository', reason, now, runsMs: 0 });
    await gate.exclusive(() => ledger.commit([change], { kind: 'pass', now }));
    // What is under way is held from now on.
    if (current.get() !== undefined) reviews.request();
  }
}

/** Returns the reason without the text of files, since messages quote them and proxies read events. */
function publicReason({ reason, hold, problems }: Omit<RefusedCommit, 'since'>): string {
  const first = problems.find(isError);
  return hold === null && first !== undefined ? `${placeAndCode(first)}; see treeline problems` : reason;
}

// Follows the branch: polls when asked to, has the newest commit followed, and tells those who wait what became of it.
// follow-commit.ts decides about one commit.
import { randomUUID } from 'node:crypto';
import type { ParsedFiles } from '../catalog/load-catalog.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import type { Logger } from '../log.ts';
import { momentOf } from '../model/moment.ts';
import { reasonOf } from '../model/quote.ts';
import type { Writings } from '../model/writing.ts';
import { KeyedQueue } from '../reconcile/keyed-queue.ts';
import type { Reviews } from '../reconcile/reviews.ts';
import { RepeatedErrors } from '../repeated-errors.ts';
import type { Trigger } from '../source/source.ts';
import type { Poll } from './activate.ts';
import { Arrivals } from './arrivals.ts';
import { CommitFollower, type CommitFollowerOptions } from './follow-commit.ts';
import { logProblems } from './log-problems.ts';
import { HEAD } from './object-rows.ts';
import { tellRefusal } from './tell-refusal.ts';

/** How soon a poll that failed is tried again, unless something asks earlier; twice as long each time. */
const RETRY_MS = 5_000;
/** Some hosts lock an account that asks with a wrong password too often. */
const RETRY_MS_MAX = 120_000;
const BRANCH = 'branch';
const PUSHED = 'pushed commit';

interface FollowerOptions extends CommitFollowerOptions {
  readonly triggers: readonly Trigger[];
  readonly reviews: Reviews;
  readonly log: Logger;
  /** Lets other work run between two polls. Default: one turn of the event loop. */
  readonly yieldToOthers?: (() => Promise<unknown>) | undefined;
}

/** A commit that this process has pushed, and the head on which it was made. */
interface PushedCommit {
  readonly commit: string;
  readonly base: string;
}

/** Polls the branch, and has each new commit followed. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #queue: KeyedQueue;
  readonly #commits: CommitFollower;
  readonly #errors: RepeatedErrors;
  readonly #arrivals: Arrivals;
  /** The head that was polled last, followed or not. */
  #polledHead: string | undefined;
  /** What all rows took when the newest commit was judged last. */
  #judgedBytes = 0;
  #notReadyReason = 'the repository was not read yet';
  /** The newest commit that this process has pushed; undefined once it was looked at. */
  #pushed: PushedCommit | undefined;
  #isStopping = false;
  /** Polls that failed, one after the other. */
  #failures = 0;

  constructor(options: FollowerOptions) {
    const { clock, current, source, reviews, yieldToOthers } = options;
    this.#options = options;
    this.#commits = new CommitFollower(options);
    this.#errors = new RepeatedErrors(clock);
    this.#arrivals = new Arrivals(current, (ancestor, descendant) => source.isAncestor(ancestor, descendant));
    this.#queue = new KeyedQueue({ clock, concurrency: 1, handle: (name) => this.#handle(name), yieldToOthers });
    reviews.listen(() => this.poll());
  }

  /** Why no commit is followed yet, or why the newest one is not, for a person. */
  get notReadyReason(): string {
    return this.#notReadyReason;
  }

  /** The desired state of the head that was polled last; undefined where that is not followed, or not yet. */
  get followed(): DesiredState | undefined {
    const desired = this.#options.current.get();
    return desired !== undefined && desired.commit === this.#polledHead ? desired : undefined;
  }

  start(): void {
    for (const trigger of this.#options.triggers) trigger.start(() => this.poll());
    this.poll();
  }

  /** Asks for a poll of the branch; many such requests make one poll. */
  poll(): void {
    this.#queue.add(BRANCH);
  }

  /**
   * Resolves with the desired state once a commit, or one after it, is followed. Throws ServiceError `conflict` where that
   * commit was polled and is not followed, `not_ready` where it cannot be polled.
   */
  desiredAt(commit: string): Promise<DesiredState> {
    return this.#arrivals.wait(commit, () => this.poll());
  }

  /**
   * Resolves like {@link desiredAt} for a commit that this process has pushed onto `base`. Where the branch was at the base
   * and is followed, the commit is followed without a look at the remote.
   */
  pushed(commit: string, base: string): Promise<DesiredState> {
    return this.#arrivals.wait(commit, () => {
      this.#pushed = { commit, base };
      this.#queue.add(PUSHED);
    });
  }

  /** Asks for a poll, and resolves with the desired state of the commit that it finds; see Arrivals. Throws like {@link desiredAt}. */
  newest(options?: { readonly inHurry: boolean }): Promise<DesiredState> {
    return this.#arrivals.newest(() => this.poll(), options);
  }

  /** Takes files that commits will bring, parsed, in place of those before: they are not read again. And who writes them. */
  expect(files: ParsedFiles, writings: Writings): void {
    this.#commits.expect(files, writings);
  }

  /** Ends a fetch that is under way: a stop never waits for the remote. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#arrivals.stop();
    await Promise.all(this.#options.triggers.map((trigger) => trigger.stop()));
    await Promise.all([this.#options.source.close(), this.#queue.stop()]);
  }

  /** Never throws: the one place where a poll that failed is caught. */
  async #handle(name: string): Promise<void> {
    const operation = randomUUID();
    const log = this.#options.log.child({ operation });
    if (name === PUSHED) return await this.#tryPushed({ operation, log });
    try {
      this.#arrivals.begin();
      await this.#poll({ operation, log });
      this.#failures = 0;
      await this.#arrivals.polled();
    } catch (error) {
      this.#arrivals.failed(error);
      if (this.#isStopping) return;
      this.#notReadyReason = reasonOf(error);
      const told = this.#errors.tell(error);
      if (told) log.error({ err: error, ...told }, 'the repository could not be followed; everything stays as it is');
      this.#queue.addAfter(BRANCH, Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** this.#failures));
      this.#failures += 1;
    }
  }

  /** Follows the pushed commit, or asks for a poll, which then also says what is wrong. Never throws. */
  async #tryPushed(poll: Poll): Promise<void> {
    const pushed = this.#pushed;
    this.#pushed = undefined;
    if (pushed === undefined) return;
    try {
      await this.#followPushed(pushed, poll);
    } catch (error) {
      poll.log.warn({ err: error, commit: pushed.commit }, 'the pushed commit could not be followed at once; polling');
    }
    if (this.#arrivals.pushed(pushed.commit)) this.poll();
  }

  /** Follows a commit that was the branch's head a moment ago. Anything unusual is left to a poll. */
  async #followPushed({ commit, base }: PushedCommit, poll: Poll): Promise<void> {
    const { source, current, ledger, reviews } = this.#options;
    const isAtBase = this.#polledHead === base && current.get()?.commit === base;
    if (!isAtBase || reviews.isOpen || !(await source.adopt(commit))) return;
    this.#polledHead = undefined;
    await this.#judge(commit, { isReview: false, poll });
    this.#polledHead = commit;
    this.#judgedBytes = ledger.rowBytes;
  }

  async #poll(poll: Poll): Promise<void> {
    const { source, ledger, current, reviews } = this.#options;
    const recorded = ledger.read('head', HEAD);
    // Where a rewritten history is held and the recorded head is lost, only a fetch can bring that back.
    const isAway = recorded !== undefined && current.get() === undefined && this.#polledHead === undefined;
    if (isAway) await this.#resume(poll);
    const head = await source.fetch(recorded?.commit ?? null);
    const { asked } = reviews;
    const isReview = reviews.isOpen || this.#hasFreedCapacity();
    if (head.oid === this.#polledHead && !isReview) return;
    this.#polledHead = undefined;
    if (recorded === undefined) await this.#commits.begin(head.oid, poll);
    else if (current.get() === undefined && (await source.has(recorded.commit))) await this.#commits.restore(poll);
    await this.#judge(head.oid, { isReview, poll });
    this.#polledHead = head.oid;
    reviews.judged(asked);
    this.#judgedBytes = ledger.rowBytes;
  }

  /** Returns true where an instance was refused for want of capacity, and rows have gone since then. */
  #hasFreedCapacity(): boolean {
    const { ledger, current } = this.#options;
    return ledger.rowBytes < this.#judgedBytes && current.get()?.limits.isShort === true;
  }

  async #judge(commit: string, { isReview, poll }: { readonly isReview: boolean; readonly poll: Poll }): Promise<void> {
    const { current } = this.#options;
    if (isReview || current.get()?.commit !== commit) await this.#follow(commit, commit, poll);
    const followed = current.get()?.commit;
    if (followed === commit) {
      current.catchUp();
      this.#notReadyReason = '';
    } else if (isReview && followed !== undefined) {
      // What is approved of the followed commit happens, although the newest one is not followed.
      await this.#follow(followed, commit, poll);
    }
  }

  async #follow(commit: string, newest: string, poll: Poll): Promise<void> {
    const verdict = await this.#commits.follow(commit, { ...poll, newest });
    if (verdict.kind === 'refused') await this.#refuse(verdict.refused, poll.log);
  }

  /** Serves what was active before, without the remote; where the local copy is gone, the fetch that follows mends it. */
  async #resume(poll: Poll): Promise<void> {
    try {
      await this.#commits.restore(poll);
    } catch (error) {
      poll.log.warn({ err: error }, 'the followed commit is not in the local copy; fetching it');
    }
  }

  async #refuse(refused: Omit<RefusedCommit, 'since'>, log: Logger): Promise<void> {
    const { current, clock, ledger } = this.#options;
    const { commit, reason, problems } = refused;
    current.refuse({ ...refused, since: momentOf(clock.now()) });
    this.#notReadyReason = `commit ${commit} is not followed: ${reason}`;
    logProblems(problems, log);
    log.error({ commit, reason }, 'the commit is not followed; everything stays as it is');
    await tellRefusal(ledger, refused, clock.now());
  }
}

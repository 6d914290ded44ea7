// Follows the branch: looks when told to, derives what a new head means, and takes it, or says why not. What cannot be
// read changes nothing. docs/concepts.md, wrong commits.

import { randomUUID } from 'node:crypto';
import { NO_FILES, type ParsedFiles } from '../catalog/load-catalog.ts';
import type { Safety } from '../desired/admit.ts';
import { type Baseline, type DesiredState, EMPTY_BASELINE } from '../desired/desired-state.ts';
import type { RefusedCommit } from '../desired/refused-commit.ts';
import type { Logger } from '../log.ts';
import { historyDigest, nothingLeftDigest } from '../machine/hold-digests.ts';
import type { DeleteBudget } from '../machine/removals.ts';
import { momentOf } from '../model/moment.ts';
import type { Problem } from '../model/problem.ts';
import { KeyedQueue } from '../reconcile/keyed-queue.ts';
import { RepeatedErrors } from '../reconcile/repeated-errors.ts';
import type { Commit, Source, Trigger } from '../source/source.ts';
import { type ActivationParts, activate, type Poll } from './activate.ts';
import { Arrivals } from './arrivals.ts';
import { logProblems, textOf } from './log-problems.ts';
import { HEAD } from './object-rows.ts';
import { recordedBaseline } from './recorded-baseline.ts';
import { deriveAt, restoreDesired } from './restore.ts';
import {
  approvedCountOf,
  COMMITS_MAX,
  isHeldByProtection,
  liftedProtection,
  safetyOf,
  withoutApprovals,
} from './safety.ts';
import { searchHistory } from './search-history.ts';

/** How soon a look that failed is tried again, unless something asks earlier; twice as long each time. */
const RETRY_MS = 5_000;
/** Some hosts lock an account that asks with a wrong password too often. */
const RETRY_MS_MAX = 120_000;
const BRANCH = 'branch';

export interface FollowerOptions extends ActivationParts {
  readonly source: Source;
  readonly triggers: readonly Trigger[];
  readonly deleteBudget: DeleteBudget;
  readonly log: Logger;
}

interface Followed {
  readonly commit: string;
  readonly baseline: Baseline;
  /** No copy has the commit any more: `baseline` is from the rows. */
  readonly isLost: boolean;
}

export class Follower {
  readonly #options: FollowerOptions;
  readonly #queue: KeyedQueue;
  /** The head that was looked at last, followed or not. */
  #polledHead: string | undefined;
  /** How many reviews were asked for, and how many of them are through: one that failed is tried again. */
  #reviews: number;
  #reviewed = 0;
  #expected: ParsedFiles = NO_FILES;
  /** What all rows took when the newest commit was judged last. */
  #judgedBytes = 0;
  #notReadyReason = 'the repository was not read yet';
  #isStopping = false;
  /** Looks that failed, one after the other. */
  #failures = 0;
  readonly #errors: RepeatedErrors;
  readonly #arrivals: Arrivals;

  constructor(options: FollowerOptions) {
    this.#options = options;
    // What was approved before a restart may not have been judged.
    this.#reviews = options.ledger.list('approval').size === 0 ? 0 : 1;
    this.#errors = new RepeatedErrors(options.clock);
    this.#arrivals = new Arrivals(options.current, (ancestor, descendant) =>
      options.source.isAncestor(ancestor, descendant),
    );
    this.#queue = new KeyedQueue({ clock: options.clock, concurrency: 1, handle: () => this.#handle() });
  }

  /** Why no commit is followed yet, or why the newest one is not, for a person. */
  get notReadyReason(): string {
    return this.#notReadyReason;
  }

  start(): void {
    for (const trigger of this.#options.triggers) trigger.start(() => this.poll());
    this.poll();
  }

  /** Asks for a look at the branch; many such wishes make one look. */
  poll(): void {
    this.#queue.add(BRANCH);
  }

  /** Asks for a look that judges the newest commit again although it was looked at: an approval may change the answer. */
  review(): void {
    this.#reviews += 1;
    this.poll();
  }

  /**
   * Resolves with the desired state once a commit, or one after it, is followed. Throws ServiceError `conflict` where that
   * commit was looked at and is not followed, `not_ready` where it cannot be looked at.
   */
  desiredAt(commit: string): Promise<DesiredState> {
    return this.#arrivals.wait(commit, () => this.poll());
  }

  /** Asks for a look, and resolves with the desired state of the commit that it finds; see Arrivals. Throws like {@link desiredAt}. */
  newest(options?: { readonly inHurry: boolean }): Promise<DesiredState> {
    return this.#arrivals.newest(() => this.poll(), options);
  }

  /** Takes files that a commit will bring, parsed, in place of those before: they are not read again. */
  expect(files: ParsedFiles): void {
    this.#expected = files;
  }

  /** Ends a fetch that is under way: a stop never waits for the remote. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#arrivals.stop();
    await Promise.all(this.#options.triggers.map((trigger) => trigger.stop()));
    await Promise.all([this.#options.source.close(), this.#queue.stop()]);
  }

  /** Never throws: the one place where a look that failed is caught. */
  async #handle(): Promise<void> {
    const operation = randomUUID();
    const log = this.#options.log.child({ operation });
    try {
      this.#arrivals.begin();
      await this.#poll({ operation, log });
      this.#failures = 0;
      await this.#arrivals.polled();
    } catch (error) {
      this.#arrivals.failed(error);
      if (this.#isStopping) return;
      this.#notReadyReason = error instanceof Error ? error.message : String(error);
      const told = this.#errors.tell(error);
      if (told) log.error({ err: error, ...told }, 'the repository could not be followed; everything stays as it is');
      this.#queue.addAfter(BRANCH, Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** this.#failures));
      this.#failures += 1;
    }
  }

  async #poll(poll: Poll): Promise<void> {
    const { source, ledger, current } = this.#options;
    const recorded = ledger.read('head', HEAD);
    // Where a rewritten history is held and the recorded head is lost, only a fetch can bring that back.
    const isAway = recorded !== undefined && current.get() === undefined && this.#polledHead === undefined;
    if (isAway) await this.#resume(poll);
    const head = await source.fetch(recorded?.commit ?? null);
    const reviews = this.#reviews;
    const isReview = reviews !== this.#reviewed || this.#hasFreedCapacity();
    if (head.commit === this.#polledHead && !isReview) return;
    this.#polledHead = undefined;
    if (recorded === undefined) await this.#begin(head.commit, poll);
    else if (current.get() === undefined && (await source.has(recorded.commit))) await this.#restore(poll);
    await this.#judge(head.commit, { isReview, poll });
    this.#polledHead = head.commit;
    this.#reviewed = reviews;
    this.#judgedBytes = ledger.rowBytes;
  }

  /** An instance was refused for want of room, and since then rows went. */
  #hasFreedCapacity(): boolean {
    const { ledger, current } = this.#options;
    if (ledger.rowBytes >= this.#judgedBytes) return false;
    return current.get()?.problems.some(({ code }) => code === 'no_room') ?? false;
  }

  async #judge(commit: string, { isReview, poll }: { readonly isReview: boolean; readonly poll: Poll }): Promise<void> {
    const { current } = this.#options;
    if (isReview || current.get()?.commit !== commit) await this.#follow(commit, { ...poll, newest: commit });
    const followed = current.get()?.commit;
    if (followed === commit) {
      current.catchUp();
      this.#notReadyReason = '';
    } else if (isReview && followed !== undefined) {
      // What is approved of the followed commit happens, although the newest one is not followed.
      await this.#follow(followed, { ...poll, newest: commit });
    }
  }

  /** Serves what was in force before, without the remote; where the local copy is gone, the fetch that follows mends it. */
  async #resume(poll: Poll): Promise<void> {
    try {
      await this.#restore(poll);
    } catch (error) {
      poll.log.warn({ err: error }, 'the followed commit is not in the local copy; fetching it');
    }
  }

  /** Takes what was in force before. What was approved since is judged after that, when it is known what would go. */
  async #restore(poll: Poll): Promise<void> {
    const { source, ledger } = this.#options;
    const safety = (): Safety => withoutApprovals(this.#safety());
    const { desired, judge, baseline } = await restoreDesired(source, ledger, safety());
    await activate(this.#options, desired, { ...poll, last: baseline, judge: () => judge(safety()) });
  }

  /** The first commit ever, or after the store was lost: what is wrong in it is looked for in its history. */
  async #begin(commit: string, poll: Poll): Promise<void> {
    const desired = await searchHistory(this.#options.source, commit);
    if (desired !== undefined) await activate(this.#options, desired, poll);
  }

  async #follow(commit: string, poll: Poll & { readonly newest: string }): Promise<void> {
    const { source, current } = this.#options;
    const desired = current.get();
    const followed = this.#followed();
    const isNext = followed === undefined || (await source.isAncestor(followed.commit, commit));
    // A rewritten history is followed only when a person has accepted that very commit.
    if (followed !== undefined && !isNext && !this.#isApproved(historyDigest(commit))) {
      const lost = followed.isLost ? ', which is not in the local copy any more' : '';
      const reason = `the history was rewritten: ${commit} does not come after the followed commit ${followed.commit}${lost}`;
      this.#refuse(
        { commit, reason, problems: [], hold: { kind: 'history', digest: historyDigest(commit) } },
        poll.log,
      );
      return;
    }
    const baseline = await this.#baseline(followed, commit);
    const commits = desired === undefined ? [] : await this.#newCommits(desired, commit, isNext);
    const approvedCount = approvedCountOf(commits);
    const derivation = await deriveAt(source, commit, {
      baseline,
      earlier: desired,
      // What is followed was accepted once.
      isAccepted: commit === desired?.commit || this.#isApproved(nothingLeftDigest(commit)),
      safety: { ...this.#safety(approvedCount), unprotected: NOTHING },
      parsedFiles: this.#expected,
    });
    if (!derivation.isFollowed) {
      this.#refuse(refusalOf(commit, derivation.problems), poll.log);
      return;
    }
    const unprotected = isHeldByProtection(derivation.desired) ? await this.#lifted(desired, commits) : NOTHING;
    const judge = (): DesiredState => derivation.judge({ ...this.#safety(approvedCount), unprotected });
    await activate(this.#options, derivation.desired, { ...poll, before: desired, last: baseline, judge });
  }

  /** The commit that was followed last, and what was active then; undefined before the first. */
  #followed(): Followed | undefined {
    const { ledger, current } = this.#options;
    const desired = current.get();
    if (desired !== undefined) return { commit: desired.commit, baseline: desired, isLost: false };
    const head = ledger.read('head', HEAD);
    return head && { commit: head.commit, baseline: recordedBaseline(ledger, head), isLost: true };
  }

  /**
   * What the commit is measured against. Of objects that no row tells of, the new history may have an older right version:
   * what cannot be read at its head is not removed.
   */
  async #baseline(followed: Followed | undefined, commit: string): Promise<Baseline> {
    if (followed === undefined) return EMPTY_BASELINE;
    const { baseline, isLost } = followed;
    const found = isLost ? await searchHistory(this.#options.source, commit) : undefined;
    return found === undefined ? baseline : { ...baseline, objects: new Map([...found.objects, ...baseline.objects]) };
  }

  /** Keys of the protected units that may lose servers. */
  async #lifted(desired: DesiredState | undefined, commits: readonly Commit[]): Promise<ReadonlySet<string>> {
    const { unprotected: lifted } = this.#safety();
    if (desired === undefined) return lifted;
    return await liftedProtection(this.#options.source, { desired, commits, lifted });
  }

  async #newCommits(desired: DesiredState, commit: string, isNext: boolean): Promise<readonly Commit[]> {
    const { source } = this.#options;
    if (isNext) return await source.commitsBetween(desired.commit, commit, COMMITS_MAX);
    // Where the branch was set back, what a trailer there has approved was for when it came first.
    return (await source.isAncestor(commit, desired.commit)) ? [] : [await source.describe(commit)];
  }

  #isApproved(digest: string): boolean {
    return this.#options.ledger.read('approval', digest) !== undefined;
  }

  #safety(approvedCount = 0): Safety {
    const { ledger, deleteBudget, clock } = this.#options;
    return safetyOf(ledger, { budget: deleteBudget, now: clock.now(), approvedCount });
  }

  #refuse(refused: Omit<RefusedCommit, 'since'>, log: Logger): void {
    const { current, clock } = this.#options;
    current.refuse({ ...refused, since: momentOf(clock.now()) });
    this.#notReadyReason = `commit ${refused.commit} is not followed: ${refused.reason}`;
    logProblems(refused.problems, log);
    log.error(
      { commit: refused.commit, reason: refused.reason },
      'the commit is not followed; everything stays as it is',
    );
  }
}

const NOTHING: ReadonlySet<string> = new Set();

function refusalOf(commit: string, problems: readonly Problem[]): Omit<RefusedCommit, 'since'> {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const nothingLeft = errors.find(({ code }) => code === 'nothing_left');
  const first = errors[0];
  // What is left is no matter of a place in a file.
  const reason = nothingLeft?.message ?? (first === undefined ? 'it is wrong' : textOf(first));
  const hold =
    nothingLeft === undefined ? null : ({ kind: 'nothing left', digest: nothingLeftDigest(commit) } as const);
  return { commit, reason, problems, hold };
}

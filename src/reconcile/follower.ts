// Follows the branch: looks when told to, derives what a new head means, and takes it, or says why not. What cannot be
// read changes nothing. docs/concepts.md, wrong commits.
import { randomUUID } from 'node:crypto';
import { NO_FILES, type ParsedFiles } from '../catalog/load-catalog.ts';
import { momentOf } from '../clock.ts';
import type { Safety } from '../estate/admit.ts';
import { EMPTY_STANDING, type Estate, type Standing } from '../estate/estate.ts';
import type { RefusedCommit } from '../estate/refused-commit.ts';
import type { Logger } from '../log.ts';
import type { Problem } from '../model/problem.ts';
import type { DeleteBudget } from '../settings.ts';
import type { Commit, Source, Trigger } from '../source/source.ts';
import { Arrivals } from './arrivals.ts';
import { HEAD } from './estate-rows.ts';
import { historyDigest, nothingLeftDigest } from './hold-rows.ts';
import { KeyedQueue } from './keyed-queue.ts';
import { logProblems, textOf } from './log-problems.ts';
import { recordedStanding } from './recorded-standing.ts';
import { RepeatedErrors } from './repeated-errors.ts';
import { deriveAt, restoreEstate } from './restore.ts';
import {
  approvedCountOf,
  COMMITS_MAX,
  isHeldByProtection,
  liftedProtection,
  safetyOf,
  withoutApprovals,
} from './safety.ts';
import { searchHistory } from './search-history.ts';
import { type Look, type Taker, takeEstate } from './take.ts';

/** How soon a look that failed is tried again, unless something asks earlier; twice as long each time. */
const RETRY_MS = 5_000;
/** Some hosts lock an account that asks with a wrong password too often. */
const RETRY_MS_MAX = 120_000;
const BRANCH = 'branch';

export interface FollowerOptions extends Taker {
  readonly source: Source;
  readonly triggers: readonly Trigger[];
  readonly deleteBudget: DeleteBudget;
  readonly log: Logger;
}

interface Followed {
  readonly commit: string;
  readonly standing: Standing;
  /** No copy has the commit any more: `standing` is from the rows. */
  readonly isLost: boolean;
}

export class Follower {
  readonly #options: FollowerOptions;
  readonly #queue: KeyedQueue;
  /** The head that was looked at last, followed or not. */
  #looked: string | undefined;
  /** How many reviews were asked for, and how many of them are through: one that failed is tried again. */
  #reviews: number;
  #reviewed = 0;
  #expected: ParsedFiles = NO_FILES;
  /** What all rows took when the newest commit was judged last. */
  #judgedBytes = 0;
  #trouble = 'the repository was not read yet';
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
  get trouble(): string {
    return this.#trouble;
  }

  start(): void {
    for (const trigger of this.#options.triggers) trigger.start(() => this.look());
    this.look();
  }

  /** Asks for a look at the branch; many such wishes make one look. */
  look(): void {
    this.#queue.add(BRANCH);
  }

  /** Asks for a look that judges the newest commit again although it was looked at: an approval may change the answer. */
  review(): void {
    this.#reviews += 1;
    this.look();
  }

  /**
   * Resolves with the estate once a commit, or one after it, is followed. Throws ServiceError `conflict` where that
   * commit was looked at and is not followed, `not_ready` where it cannot be looked at.
   */
  estateAt(commit: string): Promise<Estate> {
    return this.#arrivals.wait(commit, () => this.look());
  }

  /** Asks for a look, and resolves with the estate of the commit that it finds; see Arrivals. Throws like {@link estateAt}. */
  newest(options?: { readonly inHurry: boolean }): Promise<Estate> {
    return this.#arrivals.newest(() => this.look(), options);
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
      await this.#look({ operation, log });
      this.#failures = 0;
      await this.#arrivals.looked();
    } catch (error) {
      this.#arrivals.failed(error);
      if (this.#isStopping) return;
      this.#trouble = error instanceof Error ? error.message : String(error);
      const told = this.#errors.tell(error);
      if (told) log.error({ err: error, ...told }, 'the repository could not be followed; everything stays as it is');
      this.#queue.addAfter(BRANCH, Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** this.#failures));
      this.#failures += 1;
    }
  }

  async #look(look: Look): Promise<void> {
    const { source, ledger, current } = this.#options;
    const recorded = ledger.read('head', HEAD);
    // Where a rewritten history is held and the recorded head is lost, only a fetch can bring that back.
    const isAway = recorded !== undefined && current.get() === undefined && this.#looked === undefined;
    if (isAway) await this.#resume(look);
    const head = await source.fetch(recorded?.commit ?? null);
    const reviews = this.#reviews;
    const isReview = reviews !== this.#reviewed || this.#hasMoreRoom();
    if (head.commit === this.#looked && !isReview) return;
    this.#looked = undefined;
    if (recorded === undefined) await this.#begin(head.commit, look);
    else if (current.get() === undefined && (await source.has(recorded.commit))) await this.#restore(look);
    await this.#judge(head.commit, { isReview, look });
    this.#looked = head.commit;
    this.#reviewed = reviews;
    this.#judgedBytes = ledger.rowBytes;
  }

  /** An instance was refused for want of room, and since then rows went. */
  #hasMoreRoom(): boolean {
    const { ledger, current } = this.#options;
    if (ledger.rowBytes >= this.#judgedBytes) return false;
    return current.get()?.problems.some(({ code }) => code === 'no_room') ?? false;
  }

  async #judge(commit: string, { isReview, look }: { readonly isReview: boolean; readonly look: Look }): Promise<void> {
    const { current } = this.#options;
    if (isReview || current.get()?.commit !== commit) await this.#follow(commit, { ...look, newest: commit });
    const followed = current.get()?.commit;
    if (followed === commit) {
      current.catchUp();
      this.#trouble = '';
    } else if (isReview && followed !== undefined) {
      // What is approved of the followed commit happens, although the newest one is not followed.
      await this.#follow(followed, { ...look, newest: commit });
    }
  }

  /** Serves what was in force before, without the remote; where the local copy is gone, the fetch that follows mends it. */
  async #resume(look: Look): Promise<void> {
    try {
      await this.#restore(look);
    } catch (error) {
      look.log.warn({ err: error }, 'the followed commit is not in the local copy; fetching it');
    }
  }

  /** Takes what was in force before. What was approved since is judged after that, when it is known what would go. */
  async #restore(look: Look): Promise<void> {
    const { source, ledger } = this.#options;
    const safety = (): Safety => withoutApprovals(this.#safety());
    const { estate, judge, standing } = await restoreEstate(source, ledger, safety());
    await takeEstate(this.#options, estate, { ...look, last: standing, judge: () => judge(safety()) });
  }

  /** The first commit ever, or after the store was lost: what is wrong in it is looked for in its history. */
  async #begin(commit: string, look: Look): Promise<void> {
    const estate = await searchHistory(this.#options.source, commit);
    if (estate !== undefined) await takeEstate(this.#options, estate, look);
  }

  async #follow(commit: string, look: Look & { readonly newest: string }): Promise<void> {
    const { source, current } = this.#options;
    const estate = current.get();
    const followed = this.#followed();
    const isNext = followed === undefined || (await source.isAncestor(followed.commit, commit));
    // A rewritten history is followed only when a person has accepted that very commit.
    if (followed !== undefined && !isNext && !this.#isApproved(historyDigest(commit))) {
      const lost = followed.isLost ? ', which is not in the local copy any more' : '';
      const reason = `the history was rewritten: ${commit} does not come after the followed commit ${followed.commit}${lost}`;
      this.#refuse(
        { commit, reason, problems: [], hold: { kind: 'history', digest: historyDigest(commit) } },
        look.log,
      );
      return;
    }
    const standing = await this.#baseline(followed, commit);
    const commits = estate === undefined ? [] : await this.#newCommits(estate, commit, isNext);
    const approvedCount = approvedCountOf(commits);
    const derivation = await deriveAt(source, commit, {
      standing,
      earlier: estate,
      // What is followed was accepted once.
      isAccepted: commit === estate?.commit || this.#isApproved(nothingLeftDigest(commit)),
      safety: { ...this.#safety(approvedCount), unprotected: NOTHING },
      parsedFiles: this.#expected,
    });
    if (!derivation.isTaken) {
      this.#refuse(refusalOf(commit, derivation.problems), look.log);
      return;
    }
    const unprotected = isHeldByProtection(derivation.estate) ? await this.#lifted(estate, commits) : NOTHING;
    const judge = (): Estate => derivation.judge({ ...this.#safety(approvedCount), unprotected });
    await takeEstate(this.#options, derivation.estate, { ...look, before: estate, last: standing, judge });
  }

  /** The commit that was followed last, and what was active then; undefined before the first. */
  #followed(): Followed | undefined {
    const { ledger, current } = this.#options;
    const estate = current.get();
    if (estate !== undefined) return { commit: estate.commit, standing: estate, isLost: false };
    const head = ledger.read('head', HEAD);
    return head && { commit: head.commit, standing: recordedStanding(ledger, head), isLost: true };
  }

  /**
   * What the commit is measured against. Of objects that no row tells of, the new history may have an older right version:
   * what cannot be read at its head is not removed.
   */
  async #baseline(followed: Followed | undefined, commit: string): Promise<Standing> {
    if (followed === undefined) return EMPTY_STANDING;
    const { standing, isLost } = followed;
    const found = isLost ? await searchHistory(this.#options.source, commit) : undefined;
    return found === undefined ? standing : { ...standing, objects: new Map([...found.objects, ...standing.objects]) };
  }

  /** Keys of the protected units that may lose servers. */
  async #lifted(estate: Estate | undefined, commits: readonly Commit[]): Promise<ReadonlySet<string>> {
    const { unprotected: lifted } = this.#safety();
    if (estate === undefined) return lifted;
    return await liftedProtection(this.#options.source, { estate, commits, lifted });
  }

  async #newCommits(estate: Estate, commit: string, isNext: boolean): Promise<readonly Commit[]> {
    const { source } = this.#options;
    if (isNext) return await source.commitsBetween(estate.commit, commit, COMMITS_MAX);
    // Where the branch was set back, what a trailer there has approved was for when it came first.
    return (await source.isAncestor(commit, estate.commit)) ? [] : [await source.describe(commit)];
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
    this.#trouble = `commit ${refused.commit} is not followed: ${refused.reason}`;
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

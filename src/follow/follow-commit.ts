// Judges one commit and activates what it makes of the desired state, or says why the commit is not followed. A commit that
// cannot be read changes nothing. docs/concepts.md, wrong commits.
import { NO_FILES, type ParsedFiles } from '../catalog/load-catalog.ts';
import type { Safety } from '../desired/admit.ts';
import { type Baseline, type DesiredState, EMPTY_BASELINE, type RefusedCommit } from '../desired/desired-state.ts';
import { acceptedCommit, historyDigest, nothingLeftDigest } from '../machine/hold-digests.ts';
import type { DeleteBudget } from '../machine/removals.ts';
import type { Problem } from '../model/problem.ts';
import type { FollowedPlace } from '../model/rows.ts';
import type { Steps } from '../model/steps.ts';
import type { Writings } from '../model/writing.ts';
import type { Commit, Source } from '../source/source.ts';
import { type ActivationParts, activate, type Poll } from './activate.ts';
import { type Continuation, continuationOf } from './continuation.ts';
import { textOf } from './log-problems.ts';
import { HEAD } from './object-rows.ts';
import { recordedBaseline } from './recorded-baseline.ts';
import { deriveAt, restoreDesired } from './restore.ts';
import { approvedCountOf, COMMITS_MAX, liftedProtection, safetyOf, withoutApprovals } from './safety.ts';
import { searchHistory } from './search-history.ts';
import { WrittenCommits } from './written-commits.ts';

/** The source, the delete budget and the parts of an activation. */
export interface CommitFollowerOptions extends ActivationParts {
  readonly source: Source;
  readonly deleteBudget: DeleteBudget;
}

/** The verdict on a commit. */
type CommitVerdict =
  | { readonly kind: 'followed' }
  | { readonly kind: 'refused'; readonly refused: Omit<RefusedCommit, 'since'> };

interface Followed {
  readonly commit: string;
  readonly baseline: Baseline;
  readonly place: FollowedPlace | undefined;
  /** No copy has the commit any more, or it does not make what is recorded: `baseline` is from the rows. */
  readonly isLost: boolean;
  /** What the recorded head makes otherwise than recorded, in words; undefined: nothing, or nobody can tell. */
  readonly difference?: string | undefined;
}

/** A poll, and what is known of the commit that it judges. */
interface JudgingPoll extends Poll {
  /** The newest commit of the branch, if it is known. */
  readonly newest: string | undefined;
  /** The commit is the followed one, and is read where it was followed. */
  readonly isReview?: boolean;
}

interface Continued {
  readonly followed: Followed | undefined;
  /** It continues what is followed. */
  readonly isNext: boolean;
  readonly place: FollowedPlace;
}

/** Follows one commit at a time. Each method throws where the source or the store fails; then everything stays as it is. */
export class CommitFollower {
  readonly #options: CommitFollowerOptions;
  #expected: ParsedFiles = NO_FILES;
  readonly #written = new WrittenCommits();
  /** See Followed. */
  #difference: string | undefined;

  constructor(options: CommitFollowerOptions) {
    this.#options = options;
  }

  /** Takes files that commits will bring, parsed, in place of those before: they are not read again. And who writes them. */
  expect(files: ParsedFiles, writings: Writings): void {
    this.#expected = files;
    this.#written.note(writings);
  }

  /**
   * Activates what was active before; nothing where the recorded head makes something else. What was approved since is judged
   * after that, when it is known what would go.
   */
  async restore(poll: Poll): Promise<void> {
    const { source, ledger, inSlices } = this.#options;
    const safety = (): Safety => withoutApprovals(this.#safety());
    const restored = await restoreDesired({ source, ledger, inSlices }, safety());
    this.#difference = typeof restored === 'string' ? restored : undefined;
    if (typeof restored === 'string') return;
    const { desired, judge, baseline } = restored;
    const { place = source.place } = ledger.read('head', HEAD) ?? {};
    await activate(this.#options, desired, { ...poll, place, last: baseline, judge: () => judge(safety()) });
  }

  /** Begins with the first commit ever, or after the store was lost: for what is wrong in it, its history is searched. */
  async begin(commit: string, poll: Poll): Promise<void> {
    const { source, inSlices } = this.#options;
    const desired = await searchHistory(source, commit, inSlices);
    if (desired !== undefined) await activate(this.#options, desired, { ...poll, place: source.place });
  }

  /** Follows a commit, if it continues what is followed and is valid as a whole. */
  async follow(commit: string, poll: JudgingPoll): Promise<CommitVerdict> {
    const { source } = this.#options;
    const followed = this.#followed();
    if (followed === undefined || poll.isReview) {
      return await this.#take(commit, poll, { followed, isNext: true, place: followed?.place ?? source.place });
    }
    const continued = await continuationOf(source, commit, followed);
    // Anything else is followed only when a person has accepted that very commit, or one that it comes after.
    if (!continued.isNext && !this.#isApproved(historyDigest(commit))) {
      const accepted = await this.#acceptedBefore(commit);
      const verdict = accepted === undefined ? undefined : await this.follow(accepted, poll);
      return verdict?.kind === 'followed' ? await this.follow(commit, poll) : broken(commit, continued);
    }
    if (continued.isNext && continued.from !== undefined && continued.from !== commit) {
      await this.follow(continued.from, poll);
      return await this.follow(commit, poll);
    }
    return await this.#take(commit, poll, { followed, isNext: continued.isNext, place: source.place });
  }

  /** Derives a commit where it is to be read, and activates it. */
  async #take(commit: string, poll: JudgingPoll, { followed, isNext, place }: Continued): Promise<CommitVerdict> {
    const { source, current, inSlices } = this.#options;
    const desired = current.get();
    const baseline = await this.#baseline(followed, commit);
    const commits = desired === undefined ? [] : await this.#newCommits(desired, commit, isNext);
    const approvedCount = approvedCountOf(commits);
    const derivation = await deriveAt(source, commit, {
      baseline,
      earlier: desired,
      // What is followed was accepted once.
      isAccepted: (isNext && commit === desired?.commit) || this.#isApproved(nothingLeftDigest(commit)),
      directory: place.directory,
      safety: { ...this.#safety(approvedCount), unprotected: NOTHING },
      parsedFiles: this.#expected,
      inSlices,
    });
    if (!derivation.isFollowed) return wrong(commit, derivation);
    const { isProtecting } = derivation.desired.limits;
    const unprotected = isProtecting ? await this.#lifted(desired, commits) : NOTHING;
    const judge = (): Steps<DesiredState> => derivation.judge({ ...this.#safety(approvedCount), unprotected });
    const clientOf = this.#written.clientsOf(commits);
    const activation = { ...poll, place, before: desired, last: baseline, judge, clientOf };
    await activate(this.#options, derivation.desired, activation);
    return { kind: 'followed' };
  }

  /** Returns a commit whose history a person has accepted, and that a commit comes after; undefined if there is none. */
  async #acceptedBefore(commit: string): Promise<string | undefined> {
    const { source, ledger } = this.#options;
    for (const [digest, { what }] of ledger.list('approval')) {
      const accepted = what === 'history' ? acceptedCommit(digest) : undefined;
      if (accepted === undefined || accepted === commit || !(await source.has(accepted))) continue;
      if (await source.isAncestor(accepted, commit)) return accepted;
    }
    return undefined;
  }

  /** The commit that was followed last, and what was active then; undefined before the first. */
  #followed(): Followed | undefined {
    const { ledger, current } = this.#options;
    const desired = current.get();
    const head = ledger.read('head', HEAD);
    const place = head?.place;
    if (desired !== undefined) return { commit: desired.commit, baseline: desired, place, isLost: false };
    if (head === undefined) return undefined;
    const baseline = recordedBaseline(ledger, head);
    return { commit: head.commit, baseline, place, isLost: true, difference: this.#difference };
  }

  /**
   * Returns the baseline of the commit. Of objects that no row tells of, the new history may have an older right version:
   * what cannot be read at its head is not removed.
   */
  async #baseline(followed: Followed | undefined, commit: string): Promise<Baseline> {
    if (followed === undefined) return EMPTY_BASELINE;
    const { baseline, isLost } = followed;
    const { source, inSlices } = this.#options;
    const found = isLost ? await searchHistory(source, commit, inSlices) : undefined;
    return found === undefined ? baseline : { ...baseline, objects: new Map([...found.objects, ...baseline.objects]) };
  }

  /** Keys of the protected units that may lose servers. */
  async #lifted(desired: DesiredState | undefined, commits: readonly Commit[]): Promise<ReadonlySet<string>> {
    const { unprotected: lifted } = this.#safety();
    if (desired === undefined) return lifted;
    const { source, inSlices } = this.#options;
    return await liftedProtection(source, { desired, commits, lifted, inSlices });
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
}

const NOTHING: ReadonlySet<string> = new Set();

function broken(commit: string, { reason, check }: Exclude<Continuation, { readonly isNext: true }>): CommitVerdict {
  const hold = { kind: 'history', digest: historyDigest(commit), check } as const;
  return { kind: 'refused', refused: { commit, reason, problems: [], hold } };
}

interface Wrong {
  readonly problems: readonly Problem[];
  readonly nothingLeft: Problem | undefined;
}

function wrong(commit: string, { problems, nothingLeft }: Wrong): CommitVerdict {
  const first = problems.find(({ severity }) => severity === 'error');
  // What is left is no matter of a place in a file.
  const reason = nothingLeft?.message ?? (first === undefined ? 'it is wrong' : textOf(first));
  const hold = nothingLeft && ({ kind: 'nothing left', digest: nothingLeftDigest(commit) } as const);
  return { kind: 'refused', refused: { commit, reason, problems, hold: hold ?? null } };
}

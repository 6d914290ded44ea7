// Judges the commits that come, one after the other, and activates what they make of the desired state, or says why the newest
// one is not followed. A commit that cannot be read changes nothing. docs/concepts.md, wrong commits.
import { NO_FILES, type ParsedFiles } from '../catalog/load-catalog.ts';
import type { Before, Derivation } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import { type Baseline, type DesiredState, EMPTY_BASELINE, type RefusedCommit } from '../desired/desired-state.ts';
import { acceptedCommit, historyDigest, nothingLeftDigest } from '../machine/hold-digests.ts';
import type { DeleteBudget } from '../machine/removals.ts';
import type { Problem } from '../model/problem.ts';
import type { FollowedPlace } from '../model/rows.ts';
import type { Writings } from '../model/writing.ts';
import { isLostStore } from '../reconcile/earlier-controller.ts';
import type { Source } from '../source/source.ts';
import { type ActivationParts, activate, type JudgedState, type Poll } from './activate.ts';
import { type Continuation, continuationOf } from './continuation.ts';
import { NEW_COMMITS_MAX } from './first-parents.ts';
import { textOf } from './log-problems.ts';
import { OtherCommits, withMergeGuards } from './merge-guards.ts';
import { HEAD } from './object-rows.ts';
import { type CommitReader, ReadAhead } from './read-ahead.ts';
import { recordedBaseline } from './recorded-baseline.ts';
import { deriveAt, restoreDesired } from './restore.ts';
import { approvedCountOf, safetyOf, withoutApprovals } from './safety.ts';
import { formerServers, searchHistory } from './search-history.ts';
import {
  afterRefused,
  type CommitStep,
  type RowView,
  stepsAfter,
  type Walk,
  type Walked,
  walkAhead,
  walkSteps,
} from './steps.ts';
import { WrittenCommits } from './written-commits.ts';

/** How many commits of the branch are taken as one: their rows are written together, and passes wait meanwhile. */
const STEPS_MAX = 1_000;

/** The source, the delete budget and the parts of an activation. */
export interface CommitFollowerOptions extends ActivationParts {
  readonly source: Source;
  readonly deleteBudget: DeleteBudget;
}

/** The verdict on a commit. */
type CommitVerdict =
  | { readonly kind: 'followed' }
  | { readonly kind: 'refused'; readonly refused: Omit<RefusedCommit, 'since'> };

/** What a commit is derived upon. */
type Upon = Required<Pick<Before, 'baseline' | 'earlier'>>;

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

/** Steps, oldest first. */
type NonEmptySteps = readonly [CommitStep, ...CommitStep[]];

/** What became of commits. */
interface GroupVerdict {
  /** On the last one. */
  readonly verdict: CommitVerdict;
  /** The last one, if it is not followed. */
  readonly refused: CommitStep | undefined;
  /** How many were taken. */
  readonly count: number;
}

/** The steps from the first one that is followed on, and what is derived of that; of the last one where none is. */
interface Begun {
  readonly steps: NonEmptySteps;
  readonly derivation: Derivation;
  readonly baseline: Baseline;
}

interface Continued {
  readonly followed: Followed | undefined;
  /** It continues what is followed. */
  readonly isNext: boolean;
  readonly place: FollowedPlace;
}

/** The commits that are walked, what they come after, and what was read of them. */
interface Walking extends Continued, Pick<Walk, 'before' | 'baseline' | 'log' | 'newest'> {
  readonly reads: ReadAhead;
}

/** Follows the commits of the branch. Each method throws where the source or the store fails; then everything stays as it is. */
export class CommitFollower {
  readonly #options: CommitFollowerOptions;
  #expected: ParsedFiles = NO_FILES;
  readonly #written = new WrittenCommits();
  /** Commits that are not followed, by the baseline upon which they were derived: once is enough where others come after them. */
  readonly #refused = new WeakMap<Baseline, Set<string>>();
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
    const safety = (): Safety => withoutApprovals(this.#safety(ledger));
    const restored = await restoreDesired({ source, ledger, inSlices }, safety());
    this.#difference = typeof restored === 'string' ? restored : undefined;
    if (typeof restored === 'string') return;
    const { desired, judge, baseline } = restored;
    const { place = source.place } = ledger.read('head', HEAD) ?? {};
    const judged = async (): Promise<JudgedState> => ({ desired: await inSlices(judge(safety())) });
    await activate(this.#options, desired, { ...poll, place, last: baseline, judge: judged });
  }

  /** Begins with the first commit ever, or after the store was lost: for what is wrong in it, its history is searched. */
  async begin(commit: string, poll: Poll): Promise<void> {
    const { source, inSlices } = this.#options;
    const desired = await searchHistory(source, commit, inSlices);
    if (desired === undefined) return;
    const last = await this.#formerServers(desired, poll);
    await activate(this.#options, desired, { ...poll, place: source.place, last });
  }

  /** Returns what the branch made before the store was lost, where something shows that it was. */
  async #formerServers(desired: DesiredState, { log }: Poll): Promise<Baseline | undefined> {
    const { ledger } = this.#options;
    if (!isLostStore(ledger)) return undefined;
    const { baseline, commitsRead } = await formerServers(desired, this.#options);
    const counts = { commits: commitsRead, servers: baseline.owners.size };
    log.warn(counts, 'the store was lost; servers that earlier commits made, and the newest does not, are looked for');
    return baseline;
  }

  /**
   * Follows the commits of the branch up to one, if it continues what is followed: each that is valid as a whole, in their
   * order. The verdict is on the last one.
   */
  async follow(commit: string, poll: JudgingPoll): Promise<CommitVerdict> {
    const { source } = this.#options;
    const followed = this.#followed();
    if (followed === undefined || poll.isReview) {
      const place = followed?.place ?? source.place;
      return await this.#takeOne(commit, poll, { followed, isNext: true, place });
    }
    const continued = await continuationOf(source, commit, followed);
    const steps = continued.isNext ? await this.#stepsTo(commit, followed.commit, continued.from) : [];
    if (steps.length > 0) return await this.#takeAll(steps, poll);
    // Anything else is followed only when a person has accepted that very commit, or one that it comes after.
    if (this.#isApproved(historyDigest(commit))) {
      return await this.#takeOne(commit, poll, { followed, isNext: false, place: source.place });
    }
    const accepted = await this.#acceptedBefore(commit);
    const verdict = accepted === undefined ? undefined : await this.follow(accepted, poll);
    return verdict?.kind === 'followed' ? await this.follow(commit, poll) : broken(commit, continued);
  }

  /** Returns the commits to follow, oldest first; none where the first of them are not among those that are read. */
  async #stepsTo(commit: string, followed: string, moved: string | undefined): Promise<readonly CommitStep[]> {
    const { source } = this.#options;
    // The layout of the commit that moved it is that of the followed one.
    if (commit === followed || commit === moved) return [await this.#stepOf(commit)];
    const commits = await source.commitsBetween(followed, commit, NEW_COMMITS_MAX);
    const steps = stepsAfter(followed, commits, commits.length === NEW_COMMITS_MAX);
    const at = steps.findIndex((step) => step.commit.oid === moved);
    return at < 0 ? steps : steps.slice(at);
  }

  /** A trailer counts when its commit is new, not where the branch is set back to it: there, it was for when it came first. */
  async #stepOf(oid: string): Promise<CommitStep> {
    const { source, current } = this.#options;
    const commit = await source.describe(oid);
    const followed = current.get()?.commit;
    const isKnown = followed === undefined || (await source.isAncestor(oid, followed));
    return { commit, brought: isKnown ? [] : [commit], others: new OtherCommits([]).all };
  }

  async #takeOne(commit: string, poll: JudgingPoll, continued: Continued): Promise<CommitVerdict> {
    return (await this.#take([await this.#stepOf(commit)], poll, continued)).verdict;
  }

  async #takeAll(steps: readonly CommitStep[], poll: JudgingPoll): Promise<CommitVerdict> {
    let group: GroupVerdict = { verdict: FOLLOWED, refused: undefined, count: 0 };
    for (let at = 0; at < steps.length; at += group.count) {
      const continued = { followed: this.#followed(), isNext: true, place: this.#options.source.place };
      const [first, ...others] = steps.slice(at, at + STEPS_MAX) as [CommitStep, ...CommitStep[]];
      const next = group.refused === undefined ? first : afterRefused(first, group.refused);
      group = await this.#take([next, ...others], poll, continued);
    }
    return group.verdict;
  }

  /**
   * Takes commits one after the other, and writes what follows from all of them: from the first one, as many as can be kept in
   * memory. What they need is read before the exclusive section.
   */
  async #take(all: NonEmptySteps, poll: JudgingPoll, continued: Continued): Promise<GroupVerdict> {
    const { source, current } = this.#options;
    const before = current.get();
    const { steps, derivation, baseline } = await this.#begin(all, continued);
    const [first] = steps;
    if (!derivation.isFollowed) return { verdict: wrong(first, derivation), refused: first, count: all.length };
    const reads = new ReadAhead(source);
    const walk = (): Walk => this.#walk({ ...continued, log: poll.log, newest: poll.newest, before, baseline, reads });
    const group = steps.slice(0, await walkAhead(steps, derivation, walk(), () => reads.isFull));
    const clientOf = this.#written.clientsOf(group.toReversed().flatMap(({ brought }) => brought));
    let refused: Walked['refused'];
    const judge = async (): Promise<JudgedState> => {
      const walked = await walkSteps(group, derivation, walk());
      refused = walked.refused;
      return walked;
    };
    const activation = { ...poll, place: continued.place, before, last: baseline, judge, clientOf };
    const activateGroup = (): Promise<void> => activate(this.#options, derivation.desired, activation);
    await reads.sealed(activateGroup, () => walkAhead(group, derivation, walk()));
    const verdict = refused === undefined ? FOLLOWED : wrong(refused.step, refused.derivation);
    return { verdict, refused: refused?.step, count: all.length - steps.length + group.length };
  }

  /** Derives the first step that is followed, beside other work: mostly it is the only one. Else the last one is returned. */
  async #begin(all: NonEmptySteps, continued: Continued): Promise<Begun> {
    const { source, ledger, current } = this.#options;
    const [earlier, from] = [current.get(), { ...continued, rows: ledger, reader: source }];
    let steps = all;
    for (;;) {
      const [step, next, ...others] = steps;
      const { oid } = step.commit;
      const baseline = await this.#baseline(continued.followed, oid);
      const refused = this.#refused.get(baseline) ?? new Set();
      if (next === undefined || !refused.has(oid) || this.#isApproved(nothingLeftDigest(oid))) {
        const derivation = await this.#derive(step, { baseline, earlier }, from);
        if (!derivation.isFollowed && refused.size < NEW_COMMITS_MAX) this.#refused.set(baseline, refused.add(oid));
        if (derivation.isFollowed || next === undefined) return { steps, derivation, baseline };
      }
      steps = [afterRefused(next, step), ...others];
    }
  }

  /** Returns the facts and functions by which steps are walked now. */
  #walk({ before, baseline, log, newest, reads, ...continued }: Walking): Walk {
    const { ledger, inSlices, clock } = this.#options;
    const { place } = continued;
    return {
      ...{ ledger, inSlices, log, newest, now: clock.now(), place, before, baseline },
      derive: (step, desired, rows) => {
        const { oid } = step.commit;
        const from = { ...continued, rows, reader: reads };
        return reads.derived(`${oid} ${this.#isApproved(nothingLeftDigest(oid))}`, desired, () =>
          this.#derive(step, { baseline: desired, earlier: desired }, from),
        );
      },
      judge: (step, derived, rows) => inSlices(derived.judge(this.#safety(rows, step))),
    };
  }

  /** Derives a commit where it is to be read. */
  async #derive(
    step: CommitStep,
    upon: Upon,
    { isNext, place, rows, reader }: Continued & { readonly rows: RowView; readonly reader: CommitReader },
  ): Promise<Derivation> {
    const { current, inSlices } = this.#options;
    const { oid } = step.commit;
    const { directory } = place;
    const derivation = await deriveAt(reader, oid, {
      ...upon,
      // What is followed was accepted once.
      isAccepted: (isNext && oid === current.get()?.commit) || this.#isApproved(nothingLeftDigest(oid)),
      directory,
      addedSince: (order) => reader.added({ ...order, to: oid, directory }),
      safety: this.#safety(rows, step),
      parsedFiles: this.#expected,
      inSlices,
    });
    return await withMergeGuards(reader, step.others, derivation, { baseline: upon.baseline, directory, inSlices });
  }

  /** Returns a commit whose history a person has accepted, and that a commit comes after; undefined if there is none. */
  async #acceptedBefore(commit: string): Promise<string | undefined> {
    const { source, ledger } = this.#options;
    const known = [commit, this.#followed()?.commit];
    for (const [digest, { what }] of ledger.list('approval')) {
      const accepted = what === 'history' ? acceptedCommit(digest) : undefined;
      if (accepted === undefined || known.includes(accepted) || !(await source.has(accepted))) continue;
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

  #isApproved(digest: string): boolean {
    return this.#options.ledger.read('approval', digest) !== undefined;
  }

  /** The facts by which a step is judged; without one, no trailer counts. */
  #safety(rows: RowView, { brought }: Pick<CommitStep, 'brought'> = { brought: [] }): Safety {
    const { deleteBudget, clock } = this.#options;
    return safetyOf(rows, { budget: deleteBudget, now: clock.now(), approvedCount: approvedCountOf(brought) });
  }
}

const FOLLOWED: CommitVerdict = { kind: 'followed' };
const TOO_MANY = `more than ${NEW_COMMITS_MAX} commits came at once: once accepted, the newest is followed, and those before it are not`;

function broken(commit: string, continued: Continuation): CommitVerdict {
  const { reason, check } = continued.isNext ? { reason: TOO_MANY, check: undefined } : continued;
  const hold = { kind: 'history', digest: historyDigest(commit), check } as const;
  return { kind: 'refused', refused: { commit, reason, problems: [], hold } };
}

interface Wrong {
  readonly problems: readonly Problem[];
  readonly nothingLeft: Problem | undefined;
}

function wrong({ commit: { oid: commit } }: CommitStep, { problems, nothingLeft }: Wrong): CommitVerdict {
  const first = problems.find(({ severity }) => severity === 'error');
  // What is left is no matter of a place in a file.
  const reason = nothingLeft?.message ?? (first === undefined ? 'it is wrong' : textOf(first));
  const hold = nothingLeft && ({ kind: 'nothing left', digest: nothingLeftDigest(commit) } as const);
  return { kind: 'refused', refused: { commit, reason, problems, hold: hold ?? null } };
}

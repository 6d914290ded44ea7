// Judges the commits that come, one after the other, and activates what they make of the desired state, or says why the newest
// one is not followed. A commit that cannot be read changes nothing. docs/concepts.md, wrong commits.
import { judgeAgain } from '../derive.ts';
import { type Baseline, type DesiredState, EMPTY_BASELINE, type RefusedCommit } from '../desired/desired-state.ts';
import { unitAddress } from '../desired/unit.ts';
import { acceptedCommit, historyDigest, nothingLeftDigest } from '../machine/hold-digests.ts';
import type { Problem } from '../model/problem.ts';
import type { FollowedPlace } from '../model/rows.ts';
import type { DeleteBudget } from '../model/settings.ts';
import type { CommitGate } from '../reconcile/commit-gate.ts';
import { isLostStore } from '../reconcile/passes/earlier-controller.ts';
import type { BadSignature, Signatures, Source } from '../repository/source.ts';
import { type ActivationParts, activate, type Poll, textOf } from './activate.ts';
import { afterRefused, type CommitStep, type DerivedStep, stepsAfter } from './commit-steps.ts';
import { type Continuation, judgeContinuation } from './continuation.ts';
import { firstParentLine, NEW_COMMITS_MAX } from './first-parents.ts';
import { OtherCommits } from './merge-guards.ts';
import { HEAD } from './object-rows.ts';
import type { OwnPushes } from './own-pushes.ts';
import { ReadAhead } from './read-ahead.ts';
import { differenceFromRows, isOfRows, pinnedUnits, recordedBaseline, restoreDesired } from './restore.ts';
import { readSafety, withoutApprovals } from './safety.ts';
import { formerServers, searchHistory } from './search-history.ts';
import {
  deriveStep,
  isApproved,
  type StepReading,
  type Walk,
  type Walked,
  walkAhead,
  walkSteps,
} from './walk-steps.ts';

/** How many commits of the branch are taken as one: their rows are written together, and passes wait meanwhile. */
const STEPS_MAX = 1_000;

/** The source, the delete budget, the lock between passes and commits, and the parts of an activation. */
export interface CommitFollowerOptions extends ActivationParts {
  readonly source: Source;
  readonly gate: CommitGate;
  readonly pushes: OwnPushes;
  readonly deleteBudget: DeleteBudget;
  /** Left out: commits need no signature. */
  readonly signatures?: Signatures | undefined;
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
  /** What the recorded head makes otherwise than recorded, in words; undefined: nothing, or it is not known. */
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
  readonly first: DerivedStep;
  readonly baseline: Baseline;
}

interface Continued extends Omit<StepReading, 'parsedFiles'> {
  readonly followed: Followed | undefined;
}

/** Follows the commits of the branch. Each method throws where the source or the store fails; then everything stays as it is. */
export class CommitFollower {
  readonly #options: CommitFollowerOptions;
  /** Commits that are not followed, by the baseline upon which they were derived: once is enough where others come after them. */
  readonly #refused = new WeakMap<Baseline, Set<string>>();
  /** See Followed. */
  #difference: string | undefined;

  constructor(options: CommitFollowerOptions) {
    this.#options = options;
  }

  /**
   * Activates what was active before; nothing where the recorded head makes something else. What was approved since is judged
   * after that, when it is known what would go.
   */
  async restore(poll: Poll): Promise<void> {
    const { source, ledger: rows, breathe } = this.#options;
    const restored = await restoreDesired({ source, rows, breathe });
    this.#difference = typeof restored === 'string' ? restored : undefined;
    if (typeof restored !== 'string') await this.#resume(restored, poll);
  }

  /**
   * Goes on from what this process shows as a standby, without deriving it again, and returns true. Returns false where that is not
   * what the rows tell now: it was restored from them, so only that they are still the same is checked.
   */
  async takeOver(poll: Poll): Promise<boolean> {
    const { ledger, current } = this.#options;
    const shown = current.get();
    if (shown === undefined || !isOfRows(shown, ledger)) return false;
    const difference = differenceFromRows(shown.units, ledger);
    if (difference === undefined) await this.#resume(shown, poll);
    return difference === undefined;
  }

  /** Judges by the present facts what was active before, and has every server examined. */
  async #resume(active: DesiredState, poll: Poll): Promise<void> {
    const { source, ledger, gate, deleteBudget: budget, clock } = this.#options;
    const { place = source.place } = ledger.read('head', HEAD) ?? {};
    await gate.exclusive(async () => {
      const safety = withoutApprovals(readSafety(ledger, { budget, now: clock.now() }));
      const judged = judgeAgain(active, safety);
      const desired = { ...judged, counts: active.counts };
      await activate(this.#options, { desired }, { ...poll, place, last: active });
    });
  }

  /** Begins with the first commit ever, or after the store was lost: for what is wrong in it, its history is searched. */
  async begin(commit: string, poll: Poll): Promise<void> {
    const { source, gate, breathe } = this.#options;
    if ((await this.#firstBad([commit])) !== undefined) return;
    const desired = await searchHistory(source, commit, breathe);
    if (desired === undefined) return;
    const last = await this.#formerServers(desired, poll);
    await gate.exclusive(() => activate(this.#options, { desired }, { ...poll, place: source.place, last }));
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
      const bad = poll.isReview ? undefined : await this.#firstBad([commit]);
      if (bad !== undefined) return unsigned(commit, bad);
      const place = followed?.place ?? source.place;
      return await this.#takeOne(commit, poll, { followed, isNext: true, place });
    }
    const continued = await judgeContinuation(source, commit, followed);
    const steps = continued.isNext ? await this.#stepsTo(commit, followed.commit, continued.from) : [];
    if (steps.length > 0) return await this.#takeSigned(steps, poll, { commit, followed: followed.commit });
    // Anything else is followed only when a person has accepted that very commit, or one that it comes after.
    if (isApproved(this.#options.ledger, historyDigest(commit))) {
      return await this.#takeOne(commit, poll, { followed, isNext: false, place: source.place });
    }
    const accepted = await this.#acceptedBefore(commit);
    const verdict = accepted === undefined ? undefined : await this.follow(accepted, poll);
    if (verdict?.kind === 'followed') return await this.follow(commit, poll);
    return broken(commit, continued, await this.#firstBad([commit]));
  }

  /** Returns the commits to follow, oldest first; none where the first of them are not among those that are read. */
  async #stepsTo(commit: string, followed: string, moved: string | undefined): Promise<readonly CommitStep[]> {
    const { source } = this.#options;
    // The layout of the commit that moved it is that of the followed one.
    if (commit === followed || commit === moved) return [await this.#readStep(commit)];
    const commits = await source.commitsBetween(followed, commit, NEW_COMMITS_MAX);
    const steps = stepsAfter(followed, commits, commits.length === NEW_COMMITS_MAX);
    const at = steps.findIndex((step) => step.commit.oid === moved);
    return at < 0 ? steps : steps.slice(at);
  }

  /** A trailer counts when its commit is new, not where the branch is set back to it: there, it was for when it came first. */
  async #readStep(oid: string): Promise<CommitStep> {
    const { source, current } = this.#options;
    const commit = await source.describe(oid);
    const followed = current.get()?.commit;
    const isKnown = followed === undefined || (await source.isAncestor(oid, followed));
    return { commit, brought: isKnown ? [] : [commit], others: new OtherCommits([]).all };
  }

  async #takeOne(commit: string, poll: JudgingPoll, continued: Continued): Promise<CommitVerdict> {
    return (await this.#follow([await this.#readStep(commit)], poll, continued)).verdict;
  }

  /** Takes the steps before the first commit of the branch without a valid signature: it refuses those after it too. */
  async #takeSigned(
    steps: readonly CommitStep[],
    poll: JudgingPoll,
    { commit, followed }: { readonly commit: string; readonly followed: string },
  ): Promise<CommitVerdict> {
    const { signatures, source } = this.#options;
    if (signatures === undefined) return await this.#takeAll(steps, poll);
    const commits = await source.commitsBetween(followed, commit, NEW_COMMITS_MAX);
    const line = firstParentLine(commits, followed)
      .map(({ oid }) => oid)
      .reverse();
    const bad = await this.#firstBad(line);
    if (bad === undefined) return await this.#takeAll(steps, poll);
    const signed = new Set(line.slice(0, line.indexOf(bad.commit)));
    const before = steps.filter((step) => signed.has(step.commit.oid));
    if (before.length > 0) await this.#takeAll(before, poll);
    return unsigned(commit, bad);
  }

  /** Checks commits of the branch, oldest first: those after the last one that a person has accepted. */
  async #firstBad(line: readonly string[]): Promise<BadSignature | undefined> {
    const { signatures, ledger } = this.#options;
    const accepted = line.findLastIndex((oid) => isApproved(ledger, historyDigest(oid)));
    return await signatures?.firstBad(line.slice(accepted + 1));
  }

  async #takeAll(steps: readonly CommitStep[], poll: JudgingPoll): Promise<CommitVerdict> {
    let group: GroupVerdict = { verdict: FOLLOWED, refused: undefined, count: 0 };
    for (let at = 0; at < steps.length; at += group.count) {
      const continued = { followed: this.#followed(), isNext: true, place: this.#options.source.place };
      const [first, ...others] = steps.slice(at, at + STEPS_MAX) as [CommitStep, ...CommitStep[]];
      const next = group.refused === undefined ? first : afterRefused(first, group.refused);
      group = await this.#follow([next, ...others], poll, continued);
    }
    return group.verdict;
  }

  /**
   * Takes commits one after the other, and writes what follows from all of them: from the first one, as many as can be kept in
   * memory. What they need is read before the exclusive section, in which they are judged, written and activated.
   */
  async #follow(all: NonEmptySteps, poll: JudgingPoll, continued: Continued): Promise<GroupVerdict> {
    const { source, gate, current, pushes } = this.#options;
    const before = current.get();
    const { steps, first, baseline } = await this.#begin(all, continued);
    if (!first.isFollowed) return { verdict: wrong(steps[0], first), refused: steps[0], count: all.length };
    const reads = new ReadAhead(source);
    const walk: Walk = {
      ...this.#reading(continued),
      log: poll.log,
      newest: poll.newest,
      before,
      baseline,
      first,
      reads,
    };
    const group = steps.slice(0, await walkAhead(this.#options, steps, walk));
    const clientOf = pushes.findClients(group.toReversed().flatMap(({ brought }) => brought));
    const activation = { ...poll, place: continued.place, before, last: baseline, clientOf };
    let refused: Walked['refused'];
    const takeGroup = (): Promise<void> =>
      gate.exclusive(async () => {
        const walked = await walkSteps(this.#options, group, walk);
        await activate(this.#options, walked, activation);
        refused = walked.refused;
      });
    await reads.sealed(takeGroup, () => walkAhead(this.#options, group, walk));
    const verdict = refused === undefined ? FOLLOWED : wrong(refused.step, refused.derivation);
    return { verdict, refused: refused?.step, count: all.length - steps.length + group.length };
  }

  #reading({ isNext, place }: Continued): StepReading {
    return { isNext, place, parsedFiles: this.#options.pushes.parsedFiles };
  }

  /** Derives the first step that is followed, beside other work: mostly it is the only one. Else the last one is returned. */
  async #begin(all: NonEmptySteps, continued: Continued): Promise<Begun> {
    const { source, ledger, current } = this.#options;
    const [earlier, reading] = [current.get(), { ...this.#reading(continued), reader: source }];
    let steps = all;
    for (;;) {
      const [step, next, ...others] = steps;
      const { oid } = step.commit;
      const baseline = await this.#baseline(continued.followed, oid);
      const refused = this.#refused.get(baseline) ?? new Set();
      if (next === undefined || !refused.has(oid) || isApproved(ledger, nothingLeftDigest(oid))) {
        const first = await deriveStep(this.#options, step, { baseline, earlier, rows: ledger }, reading);
        if (!first.isFollowed && refused.size < NEW_COMMITS_MAX) this.#refused.set(baseline, refused.add(oid));
        if (first.isFollowed || next === undefined) return { steps, first, baseline };
      }
      steps = [afterRefused(next, step), ...others];
    }
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
   * what cannot be read at its head is not removed. Of pinned instances, the copy may still have the commit: rows tell no records.
   */
  async #baseline(followed: Followed | undefined, commit: string): Promise<Baseline> {
    if (followed === undefined) return EMPTY_BASELINE;
    const { baseline, isLost } = followed;
    const { source, breathe, ledger: rows } = this.#options;
    const found = isLost ? await searchHistory(source, commit, breathe) : undefined;
    if (found === undefined) return baseline;
    const older = await pinnedUnits({ source, rows, breathe }, found);
    return {
      ...baseline,
      units: new Map([...baseline.units, ...older.map((unit) => [unitAddress(unit), unit] as const)]),
      objects: new Map([...found.objects, ...baseline.objects]),
    };
  }
}

const FOLLOWED: CommitVerdict = { kind: 'followed' };
const TOO_MANY = `more than ${NEW_COMMITS_MAX} commits came at once: once accepted, the newest is followed, and those before it are not`;

function broken(commit: string, continued: Continuation, bad: BadSignature | undefined): CommitVerdict {
  const refused = refusal(commit, continued);
  const reason = bad === undefined ? refused.reason : `${refused.reason}; ${bad.reason}`;
  return { kind: 'refused', refused: { ...refused, reason } };
}

function unsigned(commit: string, { reason }: BadSignature): CommitVerdict {
  const check = 'push it with a valid signature, in place of the present one';
  const hold = { kind: 'history', digest: historyDigest(commit), check } as const;
  return { kind: 'refused', refused: { commit, reason, signature: reason, problems: [], hold } };
}

function refusal(commit: string, continued: Continuation): Omit<RefusedCommit, 'since'> {
  const { reason, check } = continued.isNext ? { reason: TOO_MANY, check: undefined } : continued;
  const hold = { kind: 'history', digest: historyDigest(commit), check } as const;
  return { commit, reason, problems: [], hold };
}

/** Returns the refusal of the newest commit where nothing is active, since the followed one is lost or does not make what is recorded. */
export async function refusalOfLost(
  source: Source,
  newest: string,
  followed: Pick<Followed, 'commit' | 'difference'> & { readonly place?: FollowedPlace },
): Promise<Omit<RefusedCommit, 'since'>> {
  const { commit, difference, place } = followed;
  return refusal(newest, await judgeContinuation(source, newest, { commit, difference, place, isLost: true }));
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

// Judges the newest commit against the active state, and activates its desired state or reports why it is not followed.
// A commit that cannot be read changes nothing. docs/concepts.md, wrong commits.
import { invariant } from '../base/invariant.ts';
import { judgeAgain, judgeInTurns, type RefusedDerivation, type Reusable } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import {
  type AcceptedEffect,
  type Baseline,
  type DesiredState,
  EMPTY_BASELINE,
  type RefusedCommit,
} from '../desired/desired-state.ts';
import { acceptedCommit, historyDigest, nothingLeftDigest } from '../machine/hold-digests.ts';
import { RECOVERY } from '../machine/recovery.ts';
import type { FollowedPlace, HeadRow } from '../model/rows.ts';
import type { DeleteBudget } from '../model/settings.ts';
import type { CommitGate } from '../reconcile/commit-gate.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { BadSignature, Commit, Signatures, Source } from '../repository/source.ts';
import { type ActivationParts, activate, type Poll, textOf } from './activate.ts';
import { acceptedEffect, type NewCommit } from './commit-rows.ts';
import { firstParentLine, NEW_COMMITS_MAX } from './first-parents.ts';
import { findLosses, SEARCHED_MAX } from './loss-policy.ts';
import { HEAD } from './object-rows.ts';
import type { OwnPushes } from './own-pushes.ts';
import { proposeAt } from './read-commit.ts';
import { recordedBaseline, restoreDesired } from './restore.ts';
import { approvedCountOf, readSafety, withoutApprovals } from './safety.ts';

/** The parts that following a commit uses. */
export interface CommitFollowerOptions extends ActivationParts {
  readonly source: Source;
  readonly gate: CommitGate;
  readonly pushes: OwnPushes;
  readonly deleteBudget: DeleteBudget;
  /** Omitted: commits need no signature. */
  readonly signatures?: Signatures | undefined;
}

/** Why a commit is not followed. */
type Refusal = Omit<RefusedCommit, 'since'>;

interface Followed {
  readonly commit: string;
  readonly baseline: Baseline;
  readonly place: FollowedPlace;
  /** The commit is no longer in the local copy, or it does not match the rows, so `baseline` is built from the rows. */
  readonly isLost: boolean;
  /**
   * A description of how the recorded head differs from the rows; undefined if it does not, or if that is not known.
   */
  readonly difference?: string | undefined;
}

/** A poll, and facts about the commit that it judges. */
interface JudgingPoll extends Poll {
  /** The newest commit of the branch, if known. */
  readonly newest: string | undefined;
  /** The commit is the followed one, and is read from the place where it was followed. */
  readonly isReview?: boolean;
}

/** The relation of a commit to the followed one. */
interface Arrival {
  readonly followed: Followed | undefined;
  /** The commit descends from the followed one. */
  readonly isNext: boolean;
  readonly place: FollowedPlace;
  /** The commits after the followed one, newest first, whose trailers count. Empty for another history. */
  readonly commits: readonly Commit[];
  /** See LosingCommit. */
  readonly between: readonly string[] | undefined;
}

/** Follows the commits of the branch. Each method throws if the source or the store fails; then nothing changes. */
export class CommitFollower {
  readonly #options: CommitFollowerOptions;
  /** See Followed. */
  #difference: string | undefined;

  constructor(options: CommitFollowerOptions) {
    this.#options = options;
  }

  /**
   * Activates the state that was active before; nothing if the recorded head does not match the rows. Approvals since
   * then are judged later, when the resulting deletes are known.
   */
  async restore(poll: Poll): Promise<void> {
    const { source, ledger: rows, breathe, current } = this.#options;
    const restored = await restoreDesired({ source, rows, breathe, earlier: current.get() });
    this.#difference = typeof restored === 'string' ? restored : undefined;
    if (typeof restored === 'string') current.forget();
    else await this.#resume(restored, poll);
  }

  /** Judges the previous active state by the current facts, and enqueues every server. */
  async #resume(active: DesiredState, poll: Poll): Promise<void> {
    const { source, ledger, gate, deleteBudget: budget, clock } = this.#options;
    const { place } = ledger.read('head', HEAD) ?? source;
    await gate.exclusive(async () => {
      const safety = withoutApprovals(readSafety(ledger, { budget, now: clock.now() }));
      const judged = judgeAgain(active, safety);
      const desired = { ...judged, counts: active.counts };
      await activate(this.#options, desired, { ...poll, place, last: active });
    });
  }

  /**
   * Follows a commit of the branch if it descends from the followed one and can be followed as a whole. Returns why it
   * is not followed; undefined if it is.
   */
  async follow(commit: string, poll: JudgingPoll): Promise<Refusal | undefined> {
    const { source } = this.#options;
    const followed = this.#followed();
    if (followed === undefined || poll.isReview) {
      const bad = poll.isReview ? undefined : await this.#firstBad([commit]);
      if (bad !== undefined) return unsigned(commit, bad);
      const { place } = followed ?? source;
      return await this.#take(commit, poll, { followed, isNext: true, place, commits: [], between: [] });
    }
    const broken = await breakBefore(source, commit, followed);
    if (broken === undefined) return await this.#takeNext(commit, poll, followed);
    // Any other commit is followed only if an operator has accepted it or one of its ancestors.
    if (isApproved(this.#options.ledger, historyDigest(commit))) {
      const arrival = { followed, isNext: false, place: source.place, commits: [], between: undefined };
      return await this.#take(commit, poll, arrival);
    }
    const accepted = await this.#acceptedBefore(commit);
    if (accepted !== undefined && (await this.follow(accepted, poll)) === undefined)
      return await this.follow(commit, poll);
    const bad = await this.#firstBad([commit]);
    const effect = bad === undefined ? await this.#effectOf(commit, followed.baseline) : undefined;
    const reason = bad === undefined ? broken.reason : `${broken.reason}; ${bad.reason}`;
    return heldHistory(commit, reason, { check: broken.check, effect });
  }

  /** Returns the effect of accepting a commit; undefined if it cannot be followed. */
  async #effectOf(commit: string, baseline: Baseline): Promise<AcceptedEffect | undefined> {
    const { source, current, breathe } = this.#options;
    const before = { baseline, earlier: current.get(), isAccepted: true };
    const proposed = await proposeAt(source, commit, { ...before, breathe });
    if (!proposed.isFollowed) return undefined;
    return await acceptedEffect(baseline, await judgeInTurns(proposed, before, breathe), breathe);
  }

  /**
   * Follows a commit after the followed one. If a commit on the way has no valid signature, follows the one before it.
   */
  async #takeNext(commit: string, poll: JudgingPoll, followed: Followed): Promise<Refusal | undefined> {
    const { source, signatures } = this.#options;
    const commits = await source.commitsBetween(followed.commit, commit, NEW_COMMITS_MAX);
    const line = firstParentLine(commits, followed.commit).map(({ oid }) => oid);
    const isKnown = commits.length < NEW_COMMITS_MAX;
    if (signatures !== undefined && !isKnown) return heldHistory(commit, TOO_MANY);
    const bad = await this.#firstBad(line.toReversed());
    if (bad === undefined) {
      const between = isKnown || line.length > SEARCHED_MAX ? line.slice(1) : undefined;
      return await this.#take(commit, poll, { followed, isNext: true, place: source.place, commits, between });
    }
    const signed = line[line.indexOf(bad.commit) + 1];
    if (signed !== undefined) await this.#takeNext(signed, poll, followed);
    return unsigned(commit, bad);
  }

  /**
   * Checks the signatures of commits, oldest first, from the one after the last commit that an operator has accepted.
   */
  async #firstBad(line: readonly string[]): Promise<BadSignature | undefined> {
    const { signatures, ledger } = this.#options;
    const accepted = line.findLastIndex((oid) => isApproved(ledger, historyDigest(oid)));
    return await signatures?.firstBad(line.slice(accepted + 1));
  }

  /**
   * Derives a commit concurrently with other work, then judges and activates it in the exclusive section, where nothing
   * is read from Git.
   */
  async #take(commit: string, poll: JudgingPoll, arrival: Arrival): Promise<Refusal | undefined> {
    const { source, ledger, gate, current, pushes, breathe } = this.#options;
    const { followed, place, commits, isNext } = arrival;
    const before = current.get();
    const baseline = followed?.baseline ?? EMPTY_BASELINE;
    const proposed = await proposeAt(source, commit, {
      baseline,
      earlier: before,
      directory: place.directory,
      breathe,
      // The followed commit was accepted before.
      isAccepted: (isNext && commit === before?.commit) || isApproved(ledger, nothingLeftDigest(commit)),
    });
    if (!proposed.isFollowed) return wrong(commit, proposed);
    const losses = await this.#lossesOf(proposed, baseline, arrival);
    const judged = await this.#describe(commit);
    const activation = { ...poll, place, before, last: baseline, judged, clientOf: pushes.findClients(commits) };
    await gate.exclusive(async () => {
      invariant(current.get() === before, 'only this part activates commits');
      const safety = { ...this.#safety(commits), ...losses };
      const desired = await judgeInTurns(proposed, { baseline, earlier: before, safety }, breathe);
      await activate(this.#options, desired, activation);
    });
    return undefined;
  }

  /** Returns a commit and its signer; undefined for the followed commit, which is only judged again. */
  async #describe(oid: string): Promise<NewCommit | undefined> {
    const { source, signatures, ledger } = this.#options;
    if (ledger.read('head', HEAD)?.commit === oid) return undefined;
    return { commit: await source.describe(oid), signature: (await signatures?.signerOf(oid)) ?? null };
  }

  #safety(commits: readonly Commit[]): Safety {
    const { ledger, deleteBudget: budget, clock } = this.#options;
    // During a recovery, trailers do not count: they may be for servers that the rows do not have.
    const approvedCount = ledger.read('recovery', RECOVERY) === undefined ? approvedCountOf(commits) : 0;
    return readSafety(ledger, { budget, now: clock.now(), approvedCount });
  }

  /** Finds the policies of instances that lose servers. If no commits are in between, the active state has them. */
  async #lossesOf(
    proposed: Reusable,
    baseline: Baseline,
    { followed, place: { directory }, between }: Arrival,
  ): Promise<Pick<Safety, 'losses'>> {
    const { source, breathe, current } = this.#options;
    if (followed === undefined || between?.length === 0) return {};
    const losing = { ...proposed, baseline, followed: current.get(), between };
    return { losses: await findLosses({ source, breathe, directory }, losing) };
  }

  /** Returns an ancestor of a commit whose history an operator has accepted; undefined if there is none. */
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

  /** Returns the last followed commit and its active state; undefined before the first one. */
  #followed(): Followed | undefined {
    const { ledger, current } = this.#options;
    const head = ledger.read('head', HEAD);
    if (head === undefined) return undefined;
    const { commit, place } = head;
    const desired = current.get();
    if (desired !== undefined) return { commit, baseline: desired, place, isLost: false };
    const baseline = recordedBaseline(ledger, head);
    return { commit, baseline, place, isLost: true, difference: this.#difference };
  }
}

/** The followed commit that a new one is compared with. */
type Earlier = Omit<Followed, 'baseline'>;

/** Why a commit does not descend from the followed one. */
interface Break {
  readonly reason: string;
  /** What the operator has to try before accepting the commit; undefined: nothing. */
  readonly check: string | undefined;
}

/** Returns true if the recorded head was followed at another place than that of the settings. */
export function isElsewhere({ place }: Pick<HeadRow, 'place'>, now: FollowedPlace): boolean {
  return changedKeys(place, now).length > 0;
}

/**
 * Returns why a commit of the branch, read from the place of the settings, does not descend from the followed one;
 * undefined if it does.
 */
async function breakBefore(source: Source, commit: string, followed: Earlier): Promise<Break | undefined> {
  const { place: now } = source;
  const { place, isLost } = followed;
  const keys = changedKeys(place, now);
  const isAfter = !isLost && (await source.isAncestor(followed.commit, commit));
  if (isAfter && keys.length === 0) return undefined;
  const reason = isAfter ? 'the settings have changed where the commits come from' : whyNotAfter(commit, followed);
  const changes = keys.map((key) => `; repository.${key} was "${place[key]}" and is "${now[key]}"`).join('');
  const named = keys.map((key) => `repository.${key}`).join(' and ');
  const restore = followed.difference === undefined ? 'restore the branch' : undefined;
  const check = keys.length === 0 ? restore : `set ${named} back in the settings`;
  return { reason: `${reason}${changes}`, check };
}

function changedKeys(was: FollowedPlace, is: FollowedPlace): readonly (keyof FollowedPlace)[] {
  return (['url', 'branch', 'directory'] as const).filter((key) => was[key] !== is[key]);
}

function whyNotAfter(commit: string, { commit: followed, isLost, difference }: Earlier): string {
  if (difference !== undefined) return `the followed commit ${followed} does not make what is recorded: ${difference}`;
  const lost = isLost ? ', which is not in the local copy any more' : '';
  return `the history was rewritten: ${commit} does not come after the followed commit ${followed}${lost}`;
}

const TOO_MANY = `more than ${NEW_COMMITS_MAX} commits came at once, whose signatures are not checked`;

interface HistoryFacts extends Pick<NonNullable<RefusedCommit['hold']>, 'check' | 'effect'> {
  readonly signature?: string;
}

/** Returns the refusal of a commit that an operator may accept together with its history. */
function heldHistory(commit: string, reason: string, facts: HistoryFacts = {}): Refusal {
  const { signature, check, effect } = facts;
  const hold = { kind: 'history', digest: historyDigest(commit), check, effect } as const;
  return { commit, reason, problems: [], hold, ...(signature === undefined ? {} : { signature }) };
}

function unsigned(commit: string, { reason }: BadSignature): Refusal {
  const check = 'push it with a valid signature, in place of the present one';
  return heldHistory(commit, reason, { check, signature: reason });
}

function isApproved(ledger: Pick<Ledger, 'read'>, digest: string): boolean {
  return ledger.read('approval', digest) !== undefined;
}

/**
 * Returns the refusal of the newest commit if nothing is active, because the followed one is lost or does not match the
 * rows.
 */
export async function refusalOfLost(
  source: Source,
  newest: string,
  followed: Pick<Followed, 'commit' | 'difference' | 'place'>,
): Promise<Refusal> {
  const broken = await breakBefore(source, newest, { ...followed, isLost: true });
  invariant(broken !== undefined, 'nothing continues a lost commit');
  return heldHistory(newest, broken.reason, broken);
}

function wrong(commit: string, { problems: all, nothingLeft, cause }: RefusedDerivation): Refusal {
  // The reason for `nothing left` is not at a place in a file.
  const reason = nothingLeft?.message ?? textOf(cause);
  // The cause is listed first.
  const problems = [cause, ...all.filter((problem) => problem !== cause)];
  const hold = nothingLeft && ({ kind: 'nothing left', digest: nothingLeftDigest(commit) } as const);
  return { commit, reason, problems, hold: hold ?? null };
}

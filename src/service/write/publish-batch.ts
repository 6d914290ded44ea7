// Publishes the writes of one batch in one push, each as its own commit. If another push was faster, it judges them
// again on the new content. It answers no write before the result of the push is known.

import type { Breathe } from '../../base/breathe.ts';
import { type Clock, pause, within } from '../../base/clock.ts';
import { reasonOf } from '../../base/wording.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { Writing, Writings } from '../../model/writing.ts';
import type { PreparedCommits, Publisher, PushOutcome } from '../../repository/publisher.ts';
import type { Source } from '../../repository/source.ts';
import { judgeWrites, type WriteVerdict } from './judge-writes.ts';
import {
  explainFailedPush,
  GIVE_UP_MS,
  nothingWritten,
  outcomeUnknown,
  type PendingWrite,
  type TakeBack,
} from './pending-write.ts';

/** The pause between two queries of a remote, or polls of a branch. */
const PAUSE_MS = 250;
/** Git keeps a branch in a file of that name, and locks it with a longer name. File names have at most 255 bytes. */
const SHOWN_LENGTH_MAX = 200;

/** The part of the follower that writes use; see src/follow/follower.ts. */
export interface FollowedBranch {
  readonly followed: DesiredState | undefined;
  newest(): Promise<DesiredState>;
  desiredAt(commit: string): Promise<DesiredState>;
  announce(writings: Writings): void;
}

/** The dependencies of a batch, and its target. */
export interface PublishParts {
  readonly branch: FollowedBranch;
  readonly source: Pick<Source, 'fetch' | 'isAncestor'>;
  readonly publisher: Publisher;
  readonly clock: Clock;
  /** The target of each write: the followed branch, or a new branch that proposes it. */
  readonly mode: 'commit' | 'propose';
  /** Runs the judgement in turns. */
  readonly breathe: Breathe;
  /** Returns whether this process leads; called before each push. Omitted: it always leads. */
  readonly leads?: (() => boolean) | undefined;
}

type Group = readonly PendingWrite[];
type AcceptedWrite = Extract<WriteVerdict, { readonly is: 'commit' }>;

/** Answers every write. Never throws. If the repository refuses several commits, publishes each write alone. */
export async function publishBatch(parts: PublishParts, batch: Group): Promise<void> {
  const rest = await publishTogether(parts, batch);
  for (const write of rest) await publishTogether(parts, [write]);
}

/** Returns the writes that have to be published alone. Never throws. */
async function publishTogether(parts: PublishParts, batch: Group): Promise<Group> {
  try {
    return await publishUntilSettled(parts, batch);
  } catch (error) {
    for (const write of batch) write.reject(error);
    return [];
  }
}

async function publishUntilSettled(parts: PublishParts, batch: Group): Promise<Group> {
  const { branch, clock, mode } = parts;
  // No poll is needed first: the remote accepts the push only if the branch is at its base.
  let followed = mode === 'commit' ? branch.followed : undefined;
  let open = withoutOverdue(batch, clock);
  while (open.length > 0) {
    const leftMs = Math.min(...open.map(({ until }) => until)) - clock.monotonic();
    const desired = followed ?? (await within(clock, leftMs, branch.newest()));
    const isNewest = followed === undefined;
    followed = undefined;
    if (desired !== undefined) {
      const { left, isRefused } = await publishOnce(parts, open, { desired, isNewest });
      if (isRefused) return left;
      open = left;
    }
    open = withoutOverdue(open, clock);
  }
  return [];
}

/** Rejects the writes that have waited too long for the repository, and returns the others. */
function withoutOverdue(writes: Group, clock: Clock): Group {
  const isOverdue = ({ until }: PendingWrite): boolean => clock.monotonic() >= until;
  for (const write of writes.filter(isOverdue)) write.reject(nothingWritten());
  return writes.filter((write) => !isOverdue(write));
}

interface Left {
  /** The writes without an answer. */
  readonly left: Group;
  /** The repository refused several commits together. */
  readonly isRefused?: boolean;
}

async function publishOnce(
  parts: PublishParts,
  open: Group,
  { desired, isNewest }: { readonly desired: DesiredState; readonly isNewest: boolean },
): Promise<Left> {
  const judged = await judgeWrites(open, desired, parts.breathe);
  const verdicts = isNewest ? settleUncommitted(judged) : judged;
  const left = verdicts.map(({ write }) => write);
  const commits = verdicts.filter((verdict) => verdict.is === 'commit');
  const [first] = commits;
  // Without a push, only a poll shows the newest commit of the branch.
  if (first === undefined) return { left };
  const outcome = await publishCommits(parts, desired, { commits, verdicts });
  if (outcome.is === 'pushed') return { left: [] };
  if (outcome.is === 'moved') return { left };
  if (outcome.is === 'refused' && commits.length > 1) return { left, isRefused: true };
  const failed = outcome.is === 'refused' ? [first.write] : left;
  for (const write of failed) write.reject(explainFailedPush(outcome, write.order.requestId));
  return { left: left.filter((write) => !failed.includes(write)) };
}

/** Settles the verdicts that depend on no commit of the batch, and returns the rest. */
function settleUncommitted(verdicts: readonly WriteVerdict[]): readonly WriteVerdict[] {
  const first = verdicts.findIndex(({ is }) => is === 'commit');
  const certain = first === -1 ? verdicts : verdicts.slice(0, first);
  for (const verdict of certain) settle(verdict, null);
  return verdicts.slice(certain.length);
}

/** Resolves with the outcome of the push. Answers all writes if the commits are on the remote, otherwise none. */
async function publishCommits(
  parts: PublishParts,
  base: DesiredState,
  { commits, verdicts }: { readonly commits: readonly AcceptedWrite[]; readonly verdicts: readonly WriteVerdict[] },
): Promise<PushOutcome> {
  const [first] = commits;
  const proposal = parts.mode === 'propose' && first !== undefined ? branchOf(first.write) : null;
  const prepared = await parts.publisher.prepare(
    base.commit,
    commits.map(({ commit }) => commit),
  );
  if (prepared.is !== 'prepared') return prepared;
  for (const { write } of commits) write.isSent = true;
  const takeBacks: TakeBack[] = [];
  if (proposal === null) {
    for (const { write } of commits) if (write.beforePush !== undefined) takeBacks.push(await write.beforePush());
    parts.branch.announce(listWritings(commits, prepared));
  }
  const outcome = await pushUntilKnown(parts, prepared, proposal);
  if (outcome.is !== 'pushed') {
    // Commits that may still arrive need what was recorded for them.
    if (outcome.is !== 'unknown') for (const takeBack of takeBacks) await takeBack();
    for (const { write } of commits) write.isSent = false;
    return outcome;
  }
  const unseen = proposal === null ? await follow(parts, prepared) : undefined;
  const ids = new Map(commits.map((verdict, index) => [verdict, prepared.commits[index] ?? null]));
  for (const verdict of verdicts) {
    if (verdict.is !== 'refused' && unseen !== undefined) {
      verdict.write.reject(outcomeUnknown(unseen, verdict.write.order.requestId));
    } else {
      settle(verdict, verdict.is === 'commit' ? (ids.get(verdict) ?? null) : null, proposal);
    }
  }
  return outcome;
}

function listWritings(commits: readonly AcceptedWrite[], prepared: PreparedCommits): Writings {
  const writings = new Map<string, Writing>();
  for (const [index, oid] of prepared.commits.entries()) {
    const write = commits[index]?.write;
    if (write !== undefined) writings.set(oid, { client: write.order.by.serial, address: write.draft.address });
  }
  return writings;
}

/** Resolves with undefined when this server answers from the commits, or with the reason why it does not. */
async function follow(
  { branch, clock }: PublishParts,
  { base, commits }: PreparedCommits,
): Promise<string | undefined> {
  const head = commits.at(-1) ?? base;
  const until = clock.monotonic() + GIVE_UP_MS;
  let reason = 'it takes too long';
  while (clock.monotonic() < until) {
    try {
      const desired = await within(clock, until - clock.monotonic(), branch.desiredAt(head));
      if (desired !== undefined) return undefined;
    } catch (error) {
      reason = reasonOf(error);
      // The commit is refused; only a new commit or an approval can change that.
      if (error instanceof ServiceError && error.code === 'conflict') break;
      await pause(clock, PAUSE_MS);
    }
  }
  return `Committed as ${head}, but this server does not answer from that commit yet: ${reason}`;
}

function settle(verdict: WriteVerdict, commit: string | null, branch: string | null = null): void {
  if (verdict.is === 'refused') verdict.write.reject(verdict.error);
  else verdict.write.resolve({ commit, branch });
}

function branchOf({ draft, order }: PendingWrite): string {
  const shown = draft.address.replaceAll('/', '-').slice(0, SHOWN_LENGTH_MAX);
  return `treeline/${shown}-${order.requestId.slice(0, 8)}`;
}

/**
 * Resolves with the outcome of a push. `moved`: the commits are not on the branch and cannot reach it any more.
 * `unknown`: the outcome was unknown for {@link GIVE_UP_MS}. A retry sends exactly the same commits. `proposal`: the
 * name of the new branch, or null.
 */
async function pushUntilKnown(
  parts: PublishParts,
  prepared: PreparedCommits,
  proposal: string | null,
): Promise<PushOutcome> {
  const { clock } = parts;
  const first = await pushWhileLeading(parts, prepared, proposal);
  if (first.is !== 'unknown') return first;
  const until = clock.monotonic() + GIVE_UP_MS;
  while (clock.monotonic() < until) {
    const known = proposal === null ? await findArrived(parts, prepared) : undefined;
    if (known !== undefined) return known;
    // A failed retry proves nothing about the earlier push; a successful one does.
    const again = await pushWhileLeading(parts, prepared, proposal);
    if (again.is === 'pushed') return again;
    await pause(clock, PAUSE_MS);
  }
  return first;
}

/**
 * Pushes only as the leader. While this process slept, another replica may have answered `outcome_unknown` and accepted
 * later writes; these commits must not follow them.
 */
async function pushWhileLeading(
  { publisher, leads }: PublishParts,
  prepared: PreparedCommits,
  proposal: string | null,
): Promise<PushOutcome> {
  if (leads?.() === false) return { is: 'not sent', reason: 'this replica no longer leads' };
  return await publisher.push(prepared, proposal ?? undefined);
}

/** Resolves with the outcome; undefined if the commits may still arrive, or if the remote does not answer. */
async function findArrived(
  { source, clock }: PublishParts,
  { base, commits }: PreparedCommits,
): Promise<PushOutcome | undefined> {
  try {
    const head = await within(clock, GIVE_UP_MS, source.fetch(null));
    if (head === undefined) return undefined;
    if (await source.isAncestor(commits.at(-1) ?? base, head.oid)) return { is: 'pushed' };
    // The push succeeds only from its base, so another head means that it cannot arrive.
    return head.oid === base ? undefined : { is: 'moved' };
  } catch {
    // This error is ignored: the caller reports the error of the push.
    return undefined;
  }
}

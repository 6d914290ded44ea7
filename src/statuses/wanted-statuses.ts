// Computes which statuses forges should show now: those of the followed commit, of the newest one where it is not followed,
// and of former commits that are not done yet. Pure: the same facts give the same statuses.
// `apply`: is done what the commit changed? docs/operations.md, commit statuses, has the table. `validate`: is what the commit
// says right? Its description has counts only: problems quote files, and a forge may show statuses to anybody.

import { countOf, shortOid } from '../base/wording.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import type { Stall } from '../machine/chain.ts';
import { compareNames } from '../model/names.ts';
import { isError, type Problem } from '../model/problem.ts';
import type { CommitStatus, CommitStatusRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';
import type { Progress } from './commit-progress.ts';

/** The two statuses of a commit. */
type StatusContext = 'validate' | 'apply';

/** A status that should be shown. */
export interface WantedStatus extends CommitStatus {
  readonly commit: string;
  readonly context: StatusContext;
}

/** The facts that all statuses follow from. */
export interface StatusFacts {
  readonly desired: Pick<DesiredState, 'commit' | 'problems' | 'candidates' | 'invalid'>;
  readonly refused: Pick<RefusedCommit, 'commit' | 'hold' | 'problems' | 'signature'> | undefined;
  /** The statuses that were accepted last, by commit. */
  readonly sent: ReadonlyMap<string, CommitStatusRow>;
  readonly held: HeldCounts;
  readonly progressOf: (commit: string) => Progress;
  /** Returns why none of the servers that are not at rest can continue by itself; undefined if one can. */
  readonly stallOf: (progress: Progress) => Stall | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The statuses, and the commits that need no further one. */
interface StatusPlan {
  readonly wanted: readonly WantedStatus[];
  readonly over: readonly string[];
}

/** Former commits that are waited for; the oldest beyond that end as superseded. */
const FORMER_MAX = 10;
/** How long a former commit is waited for. */
const FORMER_MS = 24 * 3_600_000;

/** Returns what should be shown now. */
export function wantedStatuses(facts: StatusFacts): StatusPlan {
  const { desired, refused, sent } = facts;
  const newest = new Set([desired.commit, ...(refused === undefined ? [] : [refused.commit])]);
  const former = [...sent]
    .filter(([commit]) => !newest.has(commit))
    .sort(([, a], [, b]) => compareNames(b.since, a.since));
  const judged = former.map(([commit, row], index) =>
    judgeFormer(commit, row, { facts, isOver: isOver(row, index, facts) }),
  );
  return {
    wanted: [...headStatuses(facts), ...refusedStatuses(facts), ...judged.flatMap(({ wanted }) => wanted)],
    over: judged.flatMap(({ over }) => over),
  };
}

function isOver({ since }: CommitStatusRow, index: number, { now }: StatusFacts): boolean {
  return index >= FORMER_MAX || now - Date.parse(since) >= FORMER_MS;
}

function headStatuses({ desired, sent, held, progressOf, stallOf }: StatusFacts): readonly WantedStatus[] {
  const { commit } = desired;
  const validate = { commit, context: 'validate', ...validateStatus(desired) } as const;
  // What happens to its servers later is no matter of the commit.
  if (sent.get(commit)?.apply?.state === 'success') return [validate];
  const progress = progressOf(commit);
  const apply = headStatus({ progress, held, stall: stallOf(progress) });
  return [validate, { commit, context: 'apply', ...apply }];
}

/** A commit that is not followed changes no server. */
function refusedStatuses({ desired, refused }: StatusFacts): readonly WantedStatus[] {
  if (refused === undefined || refused.commit === desired.commit) return [];
  return [{ commit: refused.commit, context: 'validate', ...refusedStatus(refused) }];
}

interface FormerContext {
  readonly facts: StatusFacts;
  readonly isOver: boolean;
}

function judgeFormer(commit: string, { apply }: CommitStatusRow, { facts, isOver: over }: FormerContext): StatusPlan {
  const isFinal = apply === null || apply.state === 'success' || apply.state === 'superseded';
  if (isFinal || (over && apply.state === 'failure')) return { wanted: [], over: [commit] };
  const progress = facts.progressOf(commit);
  const { desired, stallOf } = facts;
  const status = formerStatus({ progress, head: desired.commit, isOver: over, stall: stallOf(progress) });
  return { wanted: [{ commit, context: 'apply', ...status }], over: [] };
}

/** The servers and instances whose deletes or replacements wait for an approval. */
interface HeldCounts {
  readonly servers: number;
  readonly instances: number;
}

/** The facts about the followed commit. */
interface HeadFacts {
  readonly progress: Progress;
  readonly held: HeldCounts;
  /** Why none of the servers that are not at rest can continue by itself; undefined if one can. */
  readonly stall: Stall | undefined;
}

/** Returns the status of the followed commit. A hold belongs to it, whichever commit brought it. */
export function headStatus(facts: HeadFacts): CommitStatus {
  const own = ownStatus(facts);
  const { servers, instances } = facts.held;
  if (instances === 0 || own.state === 'failure') return own;
  const words = `held until approved: deletes or replacements, ${countOf(servers, 'server')} in ${countOf(instances, 'instance')}`;
  const isDone = own.state === 'success';
  return { state: 'in progress', description: isDone ? words : `${own.description}; ${words}` };
}

/** The facts about a commit that was followed before the head. */
interface FormerFacts extends Omit<HeadFacts, 'held'> {
  /** The followed commit. */
  readonly head: string;
  /** It is not waited for any longer. */
  readonly isOver: boolean;
}

/**
 * Returns the status of a commit that was followed before the head. It ends by itself once the servers that it changed
 * last are at rest, and as superseded when newer commits changed all of them, or when it is not waited for any longer.
 */
export function formerStatus(facts: FormerFacts): CommitStatus {
  const { done, open, deleted, takenOver } = facts.progress;
  const superseded = { state: 'superseded', description: `superseded by ${shortOid(facts.head)}` } as const;
  if (open.size === 0 && done === 0) return takenOver > 0 || deleted === 0 ? superseded : ownStatus(facts);
  const own = ownStatus(facts);
  return facts.isOver && own.state === 'in progress' ? superseded : own;
}

function ownStatus({ progress, stall }: Omit<HeadFacts, 'held'>): CommitStatus {
  const { done, open } = progress;
  const all = countOf(done + open.size, 'server');
  const failed = countIn(open, 'failed');
  const blocked = countIn(open, 'blocked');
  if (failed + blocked > 0) {
    const words = [...(failed > 0 ? [`${failed} failed`] : []), ...(blocked > 0 ? [`${blocked} blocked`] : [])];
    return { state: 'failure', description: `${all}: ${[...words, `${done} done`].join(', ')}` };
  }
  const doneOfAll = `${all}: ${done} done`;
  if (stall === 'failed') {
    return { state: 'failure', description: `${doneOfAll}, the others wait for servers that failed` };
  }
  // Suspended, held, or behind a server of another commit that is blocked: a person has decided or will decide.
  if (stall === 'blocked') return { state: 'in progress', description: `${doneOfAll}, the others wait for a person` };
  if (open.size > 0) return { state: 'in progress', description: doneOfAll };
  return { state: 'success', description: doneWords(progress) };
}

function doneWords({ done, deleted }: Progress): string {
  if (done === 0) return deleted === 0 ? 'no server to change' : `${countOf(deleted, 'server')} deleted`;
  return `${countOf(done, 'server')} done${deleted === 0 ? '' : `, ${deleted} deleted`}`;
}

function countIn(open: Progress['open'], state: State): number {
  let count = 0;
  for (const each of open.values()) if (each === state) count += 1;
  return count;
}

/** Returns the status of the followed commit. */
function validateStatus({ problems, candidates, invalid }: FollowedFacts): CommitStatus {
  const written = [...candidates.values()].filter(({ type }) => type === 'stack-instance').map(({ name }) => name);
  const instances = new Set([...written, ...invalid]).size;
  const errors = problems.filter(isError);
  if (errors.length === 0) {
    const warnings = problems.length === 0 ? '' : `, ${countOf(problems.length, 'warning')}`;
    return { state: 'success', description: `valid, ${countOf(instances, 'instance')}${warnings}` };
  }
  const pinned = invalid.size === 0 ? '' : `; ${invalid.size} of ${countOf(instances, 'instance')} invalid`;
  return { state: 'failure', description: `${errorsIn(errors)}${pinned}` };
}

type FollowedFacts = Pick<DesiredState, 'problems' | 'candidates' | 'invalid'>;

const HOLD_WORDS: Readonly<Record<string, string>> = {
  history: 'the history was rewritten; a person has to accept it',
  'nothing left': 'nothing would be left; a person has to approve it',
};

/** Returns the status of a commit that is not followed. */
function refusedStatus({
  hold,
  problems,
  signature,
}: Pick<RefusedCommit, 'hold' | 'problems' | 'signature'>): CommitStatus {
  if (signature !== undefined) return { state: 'failure', description: `not followed: ${signature}` };
  const errors = problems.filter(isError);
  const words = hold === null ? errorsIn(errors) : (HOLD_WORDS[hold.kind] ?? 'a person has to approve it');
  return { state: 'failure', description: `not followed: ${words}` };
}

function errorsIn(errors: readonly Problem[]): string {
  const files = new Set(errors.map(({ file }) => file)).size;
  return `${countOf(errors.length, 'error')} in ${countOf(files, 'file')}`;
}

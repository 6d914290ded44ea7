// Computes the statuses that forges should show: of the followed commit, of the newest one if it is not followed, and
// the final status of each superseded commit. Pure. `apply`: are the changes of the commit done? docs/install.md,
// commit statuses, has the table. `validate`: is the commit valid? Its description has only counts, because problems
// quote files and a forge may show statuses to anybody.

import { countOf, shortOid } from '../base/wording.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import type { Stall } from '../machine/chain.ts';
import { isError, type Problem } from '../model/problem.ts';
import type { CommitStatus, CommitStatusRow } from '../model/rows.ts';

/** The two statuses of a commit. */
type StatusContext = 'validate' | 'apply';

/** A status that should be shown. */
export interface WantedStatus extends CommitStatus {
  readonly commit: string;
  readonly context: StatusContext;
}

/** Counts of the servers whose last change is by a commit. */
export interface Progress {
  readonly done: number;
  /** Servers that are not idle, including failed and blocked ones. */
  readonly open: number;
  readonly failed: number;
  readonly blocked: number;
}

/** The facts from which all statuses follow. */
export interface StatusFacts extends HeadFacts {
  readonly desired: Pick<DesiredState, 'commit' | 'problems' | 'candidates' | 'invalid'>;
  readonly refused: Pick<RefusedCommit, 'commit' | 'hold' | 'problems' | 'signature'> | undefined;
  /** The last accepted statuses, by commit. */
  readonly sent: ReadonlyMap<string, CommitStatusRow>;
}

/** The statuses to show, and the commits that need no further one. */
interface StatusPlan {
  readonly wanted: readonly WantedStatus[];
  readonly over: readonly string[];
}

/** Returns the statuses that the forge should show now. */
export function wantedStatuses(facts: StatusFacts): StatusPlan {
  const { desired, refused, sent } = facts;
  const former = [...sent].filter(([commit]) => commit !== desired.commit && commit !== refused?.commit);
  const [overtaken, over] = [former.filter(isInProgress), former.filter((entry) => !isInProgress(entry))];
  const description = `superseded by ${shortOid(desired.commit)}`;
  const ends = overtaken.map(([commit]) => ({ commit, context: 'apply', state: 'superseded', description }) as const);
  return {
    wanted: [...headStatuses(facts), ...refusedStatuses(facts), ...ends],
    over: over.map(([commit]) => commit),
  };
}

function isInProgress([, { apply }]: readonly [string, CommitStatusRow]): boolean {
  return apply?.state === 'in progress';
}

function headStatuses({ desired, sent, ...facts }: StatusFacts): readonly WantedStatus[] {
  const { commit } = desired;
  const validate = { commit, context: 'validate', ...validateStatus(desired) } as const;
  // Later changes of its servers do not concern the commit.
  if (sent.get(commit)?.apply?.state === 'success') return [validate];
  return [validate, { commit, context: 'apply', ...headStatus(facts) }];
}

/** A commit that is not followed changes no server. */
function refusedStatuses({ desired, refused }: StatusFacts): readonly WantedStatus[] {
  if (refused === undefined || refused.commit === desired.commit) return [];
  return [{ commit: refused.commit, context: 'validate', ...refusedStatus(refused) }];
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
  /** Why no busy server can continue; undefined if one can. */
  readonly stall: Stall | undefined;
}

/** Returns the `apply` status of the followed commit. It includes every hold, whichever commit caused it. */
export function headStatus(facts: HeadFacts): CommitStatus {
  const own = ownStatus(facts);
  const { servers, instances } = facts.held;
  if (instances === 0 || own.state === 'failure') return own;
  const words = `held until approved: deletes or replaces ${countOf(servers, 'server')} in ${countOf(instances, 'instance')}`;
  const isDone = own.state === 'success';
  return { state: 'in progress', description: isDone ? words : `${own.description}; ${words}` };
}

function ownStatus({ progress, stall }: Omit<HeadFacts, 'held'>): CommitStatus {
  const { done, open, failed, blocked } = progress;
  const all = countOf(done + open, 'server');
  if (failed + blocked > 0) {
    const words = [...(failed > 0 ? [`${failed} failed`] : []), ...(blocked > 0 ? [`${blocked} blocked`] : [])];
    return { state: 'failure', description: `${all}: ${[...words, `${done} done`].join(', ')}` };
  }
  const doneOfAll = `${all}: ${done} done`;
  if (stall === 'failed') {
    return { state: 'failure', description: `${doneOfAll}, the others wait for servers that failed` };
  }
  // Suspended, held, or behind a server of another commit that is blocked: an operator has decided or will decide.
  if (stall === 'blocked')
    return { state: 'in progress', description: `${doneOfAll}, the others wait for an operator` };
  if (open > 0) return { state: 'in progress', description: doneOfAll };
  return { state: 'success', description: done === 0 ? 'no server left to change' : `${all} done` };
}

/** Returns the `validate` status of the followed commit. */
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
  history: 'the history was rewritten; an operator has to accept it',
  'nothing left': 'nothing would be left; an operator has to approve it',
};

/** Returns the status of a commit that is not followed. */
function refusedStatus({
  hold,
  problems,
  signature,
}: Pick<RefusedCommit, 'hold' | 'problems' | 'signature'>): CommitStatus {
  if (signature !== undefined) return { state: 'failure', description: `not followed: ${signature}` };
  const errors = problems.filter(isError);
  const words = hold === null ? errorsIn(errors) : (HOLD_WORDS[hold.kind] ?? 'an operator has to approve it');
  return { state: 'failure', description: `not followed: ${words}` };
}

function errorsIn(errors: readonly Problem[]): string {
  const files = new Set(errors.map(({ file }) => file)).size;
  return `${countOf(errors.length, 'error')} in ${countOf(files, 'file')}`;
}

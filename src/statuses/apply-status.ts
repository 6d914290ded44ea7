// Computes the commit status `apply`: is done what the commit changed? docs/operations.md, commit statuses, has the table.

import { countOf, shortOid } from '../base/wording.ts';
import type { Stall } from '../machine/stall.ts';
import type { CommitStatus } from '../model/rows.ts';
import type { State } from '../model/state.ts';
import type { Progress } from './commit-progress.ts';

/** The servers and instances whose deletes or replacements wait for an approval. */
export interface HeldCounts {
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

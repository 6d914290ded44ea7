// Computes the commit status `validate`: is what the commit says right? The description has counts only: problems quote
// files, and a forge may show statuses to all.

import { countOf } from '../base/wording.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import { isError, type Problem } from '../model/problem.ts';
import type { CommitStatus } from '../model/rows.ts';

/** Returns the status of the followed commit. */
export function validateStatus({ problems, candidates, invalid }: FollowedFacts): CommitStatus {
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
export function refusedStatus({ hold, problems }: Pick<RefusedCommit, 'hold' | 'problems'>): CommitStatus {
  const errors = problems.filter(isError);
  const words = hold === null ? errorsIn(errors) : (HOLD_WORDS[hold.kind] ?? 'a person has to approve it');
  return { state: 'failure', description: `not followed: ${words}` };
}

function errorsIn(errors: readonly Problem[]): string {
  const files = new Set(errors.map(({ file }) => file)).size;
  return `${countOf(errors.length, 'error')} in ${countOf(files, 'file')}`;
}

// Finds the head of the followed branch among the branches that a remote has.

import { didYouMean } from '../base/wording.ts';
import { compareNames } from '../model/names.ts';
import { SourceError } from './source.ts';

const BRANCHES_NAMED_MAX = 10;

/** Returns the head of a branch. Throws SourceError that lists the existing branches. */
export function headOfBranch(branches: ReadonlyMap<string, string>, branch: string, repository: string): string {
  const head = branches.get(branch);
  if (head !== undefined) return head;
  if (branches.size === 0) {
    throw new SourceError(`"${repository}" has no commits yet: push the first one to its branch "${branch}"`);
  }
  const names = [...branches.keys()].sort(compareNames);
  const listed = names.slice(0, BRANCHES_NAMED_MAX).join(', ');
  const more = names.length > BRANCHES_NAMED_MAX ? ` and ${names.length - BRANCHES_NAMED_MAX} more` : '';
  const hint = didYouMean(branch, names);
  const advice = `${hint === null ? '' : `; ${hint}`} (its branches: ${listed}${more})`;
  throw new SourceError(`"${repository}" has no branch "${branch}"${advice}`);
}

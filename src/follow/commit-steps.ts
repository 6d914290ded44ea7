// Lists the commits of the branch that come at once as steps, oldest first: each is judged by what the ones before have
// set, as if it had been polled on its own. walk-steps.ts takes them. Pure.
import type { FollowedDerivation, RefusedDerivation } from '../derive.ts';
import type { Guard } from '../desired/deletions.ts';
import type { Commit } from '../repository/source.ts';
import { firstParentLine } from './first-parents.ts';
import { OtherCommits, type Others } from './merge-guards.ts';

/** A commit of the branch itself. */
export interface CommitStep {
  readonly commit: Commit;
  /** The commit, and those that it brings by a merge: of these, trailers count. */
  readonly brought: readonly Commit[];
  /**
   * Those that it, later ones and those right before it that are not followed bring from elsewhere: what they keep, it does not
   * delete unasked. After a `git pull`, one's own commit comes first, and reached the branch only with the merge.
   */
  readonly others: Others;
}

/** What a step makes of the desired state. */
export type DerivedStep = FollowedStep | RefusedDerivation;

/** A step that is followed. */
export interface FollowedStep extends FollowedDerivation {
  /** The servers that it takes away and that a commit which a merge brings keeps, by name. */
  readonly guarded: ReadonlyMap<string, Guard>;
}

/**
 * Returns the steps from the followed commit to the newest of `commits`, oldest first. `commits` are those that are new,
 * newest first. None where they were cut off, and the first steps are among what is missing.
 */
export function stepsAfter(followed: string, commits: readonly Commit[], isCut: boolean): readonly CommitStep[] {
  const byId = new Map(commits.map((commit) => [commit.oid, commit]));
  const line = firstParentLine(commits, followed);
  if (isCut && line.at(-1)?.parents[0] !== followed) return [];
  const earlier = new Set<string>();
  const steps = line.reverse().map((commit) => {
    const brought = new Set([commit]);
    for (const { oid, parents } of brought) {
      earlier.add(oid);
      for (const parent of parents) {
        const other = earlier.has(parent) ? undefined : byId.get(parent);
        if (other !== undefined) brought.add(other);
      }
    }
    const isUnknown = (oid: string): boolean => oid !== followed && !earlier.has(oid);
    const hasUnknown = isCut && [...brought].some(({ parents }) => parents.some(isUnknown));
    return { commit, brought: [...brought], isCut: hasUnknown };
  });
  return withOthers(steps.reverse()).reverse();
}

/** Returns the steps, newest first, each with what it and later ones bring from elsewhere. */
function withOthers(steps: readonly (Omit<CommitStep, 'others'> & { readonly isCut: boolean })[]): CommitStep[] {
  const from = new OtherCommits(steps.flatMap(({ brought }) => brought.slice(1)));
  let others: Others = { from, count: 0, isCut: false };
  return steps.map(({ commit, brought, isCut }) => {
    others = { from, count: others.count + brought.length - 1, isCut: others.isCut || isCut };
    return { commit, brought, others };
  });
}

/** Returns a step as it is where the one before it is not followed: what counts for that counts for this one. */
export function afterRefused(step: CommitStep, { others }: CommitStep): CommitStep {
  return { ...step, others };
}

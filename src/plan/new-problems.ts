// Tells the problems that a merge brings from those that base has already.
import { isError, type Problem } from '../model/problem.ts';

/** The problems after a merge. */
interface SortedProblems {
  /** Those that base does not have, or that affect more instances than there. */
  readonly added: readonly Problem[];
  /** How many others there are. */
  readonly known: number;
}

/** Returns the problems that are new. Lines do not count: a problem moves when the file grows above it. */
export function newProblems(before: readonly Problem[], after: readonly Problem[]): SortedProblems {
  const known = new Map<string, Set<string>>();
  for (const problem of before) {
    const instances = known.get(identityOf(problem)) ?? new Set();
    for (const instance of problem.instances ?? []) instances.add(instance);
    known.set(identityOf(problem), instances);
  }
  const added = after.filter((problem) => {
    const instances = known.get(identityOf(problem));
    if (instances === undefined) return true;
    return isError(problem) && (problem.instances ?? []).some((instance) => !instances.has(instance));
  });
  return { added, known: after.length - added.length };
}

function identityOf({ code, severity, file, pointer, message }: Problem): string {
  return JSON.stringify([code, severity, file, pointer, message]);
}

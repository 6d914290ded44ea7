// Walks a branch back along first parents: the commits of the branch itself, without commits from merged branches.
import type { Commit, Source } from '../repository/source.ts';

/** The most commits of a branch that are searched. */
export const COMMITS_MAX = 1_000;

/** The most new commits that are read, including those from merged branches. */
export const NEW_COMMITS_MAX = 10_000;

/** Yields a commit and its first parents, newest first, at most `countMax`. Reads a commit only to find its parent. */
export async function* firstParents(
  source: Pick<Source, 'describe'>,
  newest: string,
  countMax: number,
): AsyncGenerator<string> {
  let next: string | undefined = newest;
  for (let count = 0; next !== undefined && count < countMax; count += 1) {
    yield next;
    const { parents }: Commit = await source.describe(next);
    next = parents[0];
  }
}

/**
 * Returns the commits of the branch itself, newest first: the first parents of the newest one that descend from the
 * followed one. All other commits are from merged branches.
 */
export function firstParentLine(commits: readonly Commit[], followed: string): Commit[] {
  const children = new Map<string, string[]>();
  for (const { oid, parents } of commits) {
    for (const parent of parents) children.set(parent, [...(children.get(parent) ?? []), oid]);
  }
  const after = new Set(children.get(followed));
  // The set grows during the iteration, which visits members in the order of insertion.
  for (const commit of after) for (const child of children.get(commit) ?? []) after.add(child);
  const byId = new Map(commits.map((commit) => [commit.oid, commit]));
  const line: Commit[] = [];
  let next = commits[0];
  while (next !== undefined && after.has(next.oid)) {
    line.push(next);
    next = byId.get(next.parents[0] ?? '');
  }
  return line;
}

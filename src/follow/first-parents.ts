// Walks a branch back along first parents: the commits of the branch itself, without those that merges bring.
import type { Commit, Source } from '../repository/source.ts';

/** How many commits of a branch are searched, or read because of a merge. */
export const COMMITS_MAX = 1_000;

/** How many new commits are read, those that merges bring included. */
export const NEW_COMMITS_MAX = 10_000;

/**
 * Yields a commit and its first parents, newest first, at most `countMax`. Reads a commit only for the one before it.
 */
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
 * Returns the commits of the branch itself, newest first: the first parents of the newest one, as long as they come
 * after the followed one. The others are those that merges bring.
 */
export function firstParentLine(commits: readonly Commit[], followed: string): Commit[] {
  const children = new Map<string, string[]>();
  for (const { oid, parents } of commits) {
    for (const parent of parents) children.set(parent, [...(children.get(parent) ?? []), oid]);
  }
  const after = new Set(children.get(followed));
  // Grows while it is walked: a Set hands out members in the order in which they joined.
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

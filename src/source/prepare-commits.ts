// Creates a sequence of commits in memory, on top of one in the local copy. Sends nothing.
import { setImmediate } from 'node:timers/promises';
import { editTree } from '../git/edit-tree.ts';
import { encodeCommit, type Person } from '../git/encode-commit.ts';
import { encodePack } from '../git/encode-pack.ts';
import { NewObjects } from '../git/new-objects.ts';
import type { ObjectReader } from '../git/object-reader.ts';
import type { TreeCache } from '../git/tree-cache.ts';
import { invariant } from '../model/invariant.ts';
import type { NewCommit, PreparedCommits } from './publisher.ts';

interface CommitOrder {
  /** A commit of the local copy. */
  readonly base: string;
  readonly commits: readonly NewCommit[];
  /** The path segments from the repository's root to the layout's directory. */
  readonly directory: readonly string[];
  readonly committer: Person;
  /** Seconds since 1970, the time of all commits. */
  readonly seconds: number;
  /** Trees of earlier commits. */
  readonly trees: TreeCache;
}

/**
 * Returns the commits with all their new objects; undefined if the base is missing. Throws DamagedCopyError, and like
 * {@link editTree}.
 */
export async function prepareCommits(present: ObjectReader, order: CommitOrder): Promise<PreparedCommits | undefined> {
  const { base, commits, directory, committer, seconds, trees } = order;
  invariant(commits.length > 0, 'there is something to commit');
  const parent = await present.findCommit(base);
  if (parent === undefined) return undefined;
  const objects = new NewObjects(present, trees);
  const made: string[] = [];
  let { tree } = parent;
  for (const { author, message, edits } of commits) {
    const changes = edits.map(({ path, text }) => ({ steps: [...directory, ...path.split('/')], text }));
    tree = await editTree(objects, tree, changes);
    const before = made.at(-1) ?? base;
    made.push(objects.make('commit', encodeCommit({ tree, parent: before, author, committer, seconds, message })));
    // Yields to other work: a large directory takes a while.
    await setImmediate();
  }
  return { is: 'prepared', base, commits: made, ...encodePack(objects.made) };
}

// Who came before whom in the history of the local copy.

import type { ParsedCommit } from '../git/git-object.ts';
import type { ObjectStore } from '../git/object-store.ts';
import { Turns } from '../git/turns.ts';
import { invariant } from '../model/invariant.ts';
import { NewestFirst, type WalkedCommit } from './newest-first.ts';
import { SourceError } from './source.ts';

/**
 * Tells whether `ancestor` is `descendant` or comes before it. Goes back level by level, so that the usual case, a few
 * commits between them, looks at few. Throws SourceError after `commitsMax` commits without an answer.
 */
export async function isReachable(
  objects: ObjectStore,
  { ancestor, descendant, commitsMax }: { ancestor: string; descendant: string; commitsMax: number },
): Promise<boolean> {
  if (ancestor === descendant) return true;
  // A copy holds whole histories: what is not in it comes before nothing that is.
  if (!objects.has(ancestor)) return false;
  const seen = new Set([descendant]);
  const turns = new Turns();
  let looked = 0;
  // Grows while it is walked: a Set hands out members in the order in which they joined.
  for (const commit of seen) {
    for (const parent of objects.readCommit(commit).parents) {
      if (parent === ancestor) return true;
      seen.add(parent);
    }
    if (++looked >= commitsMax) {
      throw new SourceError(`no answer within ${commitsMax} commits whether ${ancestor} comes before ${descendant}`);
    }
    await turns.next();
  }
  return false;
}

/**
 * Returns the commits reachable from `to` and not from `from`, newest first by committer time; at most `countMax`.
 * Both sides are walked together, newest first, as git does for `from..to`, so that little more than the answer is read.
 */
export async function newCommits(
  objects: ObjectStore,
  { from, to, countMax, commitsMax }: { from: string; to: string; countMax: number; commitsMax: number },
): Promise<readonly ParsedCommit[]> {
  const old = new Set([from]);
  const seen = new Set([from, to]);
  const waiting = new NewestFirst();
  for (const oid of seen) waiting.add(walkedAt(objects, oid));
  /** Those that wait and are not known to be old. */
  const fresh = new Set(from === to ? [] : [to]);
  const found: string[] = [];
  const turns = new Turns();
  for (let looked = 0; fresh.size > 0 && looked < commitsMax; looked += 1) {
    const walked = waiting.take();
    invariant(walked !== undefined, 'there is a commit to look at');
    fresh.delete(walked.commit);
    const isOld = old.has(walked.commit);
    if (!isOld) found.push(walked.commit);
    for (const parent of walked.parents) {
      if (isOld) {
        old.add(parent);
        fresh.delete(parent);
      } else if (!seen.has(parent)) fresh.add(parent);
      if (!seen.has(parent)) waiting.add(walkedAt(objects, parent));
      seen.add(parent);
      await turns.next();
    }
    await turns.next();
  }
  // A commit may have been found before its way from the old side was.
  const newOnes = found.filter((commit) => !old.has(commit)).slice(0, countMax);
  const commits: ParsedCommit[] = [];
  for (const oid of newOnes) {
    commits.push(objects.readCommit(oid));
    await turns.next();
  }
  return commits;
}

function walkedAt(objects: ObjectStore, oid: string): WalkedCommit {
  const { commit, time, parents } = objects.readCommit(oid);
  return { commit, time, parents };
}

// Who came before whom in the history of the local copy.
import { setImmediate } from 'node:timers/promises';
import { invariant } from '../model/invariant.ts';
import type { ParsedCommit } from './git-object.ts';
import type { ObjectStore } from './object-store.ts';
import { SourceError } from './source.ts';

/** Other work gets its turn after so many commits. */
const COMMITS_A_TURN = 1000;

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
    if (looked % COMMITS_A_TURN === 0) await setImmediate();
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
  const waiting = new Map([from, to].map((oid) => [oid, objects.readCommit(oid)]));
  const found: ParsedCommit[] = [];
  for (let looked = 0; [...waiting.keys()].some((oid) => !old.has(oid)) && looked < commitsMax; looked += 1) {
    const commit = newest(waiting.values());
    waiting.delete(commit.commit);
    if (!old.has(commit.commit)) found.push(commit);
    for (const parent of commit.parents) {
      if (old.has(commit.commit)) old.add(parent);
      if (!seen.has(parent)) waiting.set(parent, objects.readCommit(parent));
      seen.add(parent);
    }
    if (looked % COMMITS_A_TURN === 0) await setImmediate();
  }
  // A commit may have been found before its way from the old side was.
  return found.filter(({ commit }) => !old.has(commit)).slice(0, countMax);
}

function newest(commits: Iterable<ParsedCommit>): ParsedCommit {
  const [first, ...others] = commits;
  invariant(first !== undefined, 'there is a commit to look at');
  return others.reduce((best, commit) => (commit.time > best.time ? commit : best), first);
}

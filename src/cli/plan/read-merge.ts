// Reads what a plan of a merge needs from a repository: the state in force at base, and the files after the merge.

import { wantsBlob } from '../../catalog/load-catalog.ts';
import { TREE_FILE } from '../../catalog/paths.ts';
import { problemsOf } from '../../derive.ts';
import { type DesiredState, EMPTY_BASELINE } from '../../desired/desired-state.ts';
import { COMMITS_MAX, firstParents } from '../../follow/first-parents.ts';
import { SEARCHED_MAX } from '../../follow/loss-policy.ts';
import { deriveAt } from '../../follow/read-commit.ts';
import { approvedCountOf } from '../../follow/safety.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { DeleteBudget } from '../../model/settings.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import type { Merge } from '../../plan/plan-merge.ts';
import { safetyOfServers } from '../../plan/planned-safety.ts';
import type { LocalRepository, MergeCommit } from '../../repository/local-repository.ts';
import { SourceError } from '../../repository/source.ts';

/** The parts of a repository that a plan reads. */
type MergeRepository = Omit<LocalRepository, 'isShallow' | 'lastChanges' | 'close'>;

/** The revisions to plan, and the limit of deletes. */
export interface MergeOrder {
  readonly base: string;
  readonly head: string;
  readonly budget: DeleteBudget | number;
}

/** A merge, and the number of deletes that trailers of its commits approve. */
export type ReadMerge = Merge & { readonly approvedCount: number };

/** Returns the merge of head into base. Throws SourceError with advice where a commit is not there. */
export async function readMerge(repository: MergeRepository, { base, head, budget }: MergeOrder): Promise<ReadMerge> {
  const [from, to] = [await repository.resolve(base), await repository.resolve(head)];
  const { commit, conflicts } = await repository.merge(from, to);
  const { before, problemsBefore } = await stateAt(repository, from);
  const snapshot = await readSnapshot(repository, { from, to, commit, conflicts, before });
  const commits = await repository.commitsBetween(from, to, COMMITS_MAX + 1);
  const approvedCount = approvedCountOf(commits);
  const merge = {
    base: from,
    head: to,
    before,
    problemsBefore,
    snapshot,
    approvedCount,
    conflicts: conflicts.map((path) => needsRebase(path, base)),
  };
  if (before === undefined) return merge;
  return { ...merge, safety: safetyOfServers(before, { budget, approvedCount }) };
}

interface StateInForce {
  readonly before: DesiredState | undefined;
  readonly problemsBefore: readonly Problem[];
}

/**
 * Returns the state in force at a commit: of what is wrong in it, the version of the newest commit in which nothing was
 * wrong.
 */
async function stateAt(repository: MergeRepository, commit: string): Promise<StateInForce> {
  const alone = await deriveAt(repository, commit, { baseline: EMPTY_BASELINE });
  const problems = problemsOf(alone);
  if (alone.isFollowed && !problems.some(isError)) return { before: alone.desired, problemsBefore: problems };
  const right = await lastRight(repository, commit);
  if (right === undefined) return { before: alone.isFollowed ? alone.desired : undefined, problemsBefore: problems };
  const upon = await deriveAt(repository, commit, { baseline: right, earlier: right });
  return { before: upon.isFollowed ? upon.desired : right, problemsBefore: problemsOf(upon) };
}

/**
 * Returns the desired state of the newest commit before one in which nothing is wrong; undefined if there is none that
 * is near.
 */
async function lastRight(repository: MergeRepository, commit: string): Promise<DesiredState | undefined> {
  let earlier: DesiredState | undefined;
  for await (const oid of firstParents(repository, commit, SEARCHED_MAX + 1)) {
    if (oid === commit) continue;
    if (!(await repository.has(oid))) return undefined;
    const found = await deriveAt(repository, oid, { baseline: EMPTY_BASELINE, earlier });
    if (!found.isFollowed) continue;
    if (!problemsOf(found).some(isError)) return found.desired;
    earlier = found.desired;
  }
  return undefined;
}

interface MergedCommits extends MergeCommit {
  readonly from: string;
  readonly to: string;
  readonly before: DesiredState | undefined;
}

/**
 * Returns the files of the merge, with the version of base where git cannot merge. Blobs that `before` has are not
 * read.
 */
async function readSnapshot(
  repository: MergeRepository,
  { from, to, commit, conflicts, before }: MergedCommits,
): Promise<Snapshot> {
  const wants = wantsBlob(before?.catalog);
  const open = new Set(conflicts);
  const base = await repository.snapshot(from, (path, oid) => open.has(path) && wants(path, oid));
  const merged = await repository.snapshot(commit, wants);
  const files = new Map(merged.files);
  if (!base.files.has(TREE_FILE) && !files.has(TREE_FILE)) throw new SourceError(noLayoutText(repository));
  for (const path of conflicts) {
    const file = base.files.get(path);
    if (file === undefined) files.delete(path);
    else files.set(path, file);
  }
  const { time } = await repository.describe(to);
  return { commit: to, time, files, blobs: new Map([...merged.blobs, ...base.blobs]) };
}

/** Without this, a plan of the wrong directory would show no effect. */
function noLayoutText({ prefix }: MergeRepository): string {
  const where = prefix === '' ? 'the root of the repository' : `"${prefix}"`;
  return `neither commit has ${TREE_FILE} in ${where}: name the directory where the layout begins`;
}

function needsRebase(file: string, base: string): Problem {
  return {
    code: 'needs_rebase',
    severity: 'error',
    file,
    line: 1,
    column: 1,
    pointer: '',
    message: `the file was changed differently here and in ${base} since both parted`,
    hint: `merge ${base} into the branch, or rebase it`,
  };
}

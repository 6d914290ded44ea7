// Reads what a plan of a merge needs from a repository: the state in force at base, and the files after the merge.

import { wantsBlob } from '../../catalog/load-catalog.ts';
import { TREE_FILE } from '../../catalog/paths.ts';
import { straysIn } from '../../catalog/strays.ts';
import { problemsOf } from '../../derive.ts';
import {
  type ActiveVersion,
  type ActiveVersions,
  type DesiredState,
  EMPTY_BASELINE,
} from '../../desired/desired-state.ts';
import { COMMITS_MAX, firstParents } from '../../follow/first-parents.ts';
import { type AddedSince, deriveAt, reappearingAt } from '../../follow/read-commit.ts';
import { approvedCountOf } from '../../follow/safety.ts';
import { searchHistory } from '../../follow/search-history.ts';
import { isFullAdministrator } from '../../model/least-rights.ts';
import type { Client } from '../../model/objects.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { DeleteBudget } from '../../model/settings.ts';
import { orContentError, type Snapshot } from '../../model/snapshot.ts';
import { mergeAncestors, mergeFiles } from '../../plan/merge-files.ts';
import type { Merge } from '../../plan/plan-merge.ts';
import { safetyOfServers } from '../../plan/planned-safety.ts';
import type { LocalRepository } from '../../repository/local-repository.ts';
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

const NO_BLOBS = (): boolean => false;

/** Returns the merge of head into base. Throws SourceError with advice where a commit is not there. */
export async function readMerge(repository: MergeRepository, { base, head, budget }: MergeOrder): Promise<ReadMerge> {
  const [from, to] = [await repository.resolve(base), await repository.resolve(head)];
  const ancestors = await repository.findAncestors(from, to);
  const { files, conflicts } = await mergedFiles(repository, { base: from, head: to, ancestors });
  const { before, problemsBefore } = await stateAt(repository, from);
  const snapshot = await readSnapshot(repository, { base: from, head: to, files, before });
  const commits = await repository.commitsBetween(from, to, COMMITS_MAX + 1);
  const approvedCount = approvedCountOf(commits);
  const merge = {
    ...{ base: from, head: to, before, problemsBefore, snapshot, approvedCount },
    conflicts: conflicts.map((path) => needsRebase(path, base)),
  };
  if (before === undefined) return merge;
  const addedSince = addedByMerge(repository, { head: to, ancestors });
  const reappearing = await reappearingAt(snapshot, { baseline: before, earlier: before, addedSince });
  return { ...merge, reappearing, safety: safetyOfServers(before, { budget, approvedCount }) };
}

/** Returns a function that returns what head has, and neither an earlier commit nor a merge base: base may have taken it away. */
function addedByMerge(
  repository: MergeRepository,
  { head: to, ancestors }: { readonly head: string; readonly ancestors: readonly string[] },
): AddedSince {
  return async ({ from, select }) => {
    const isNew: ((path: string) => boolean)[] = [];
    for (const ancestor of ancestors) {
      const { files } = await repository.added({ from: ancestor, to, select: () => [] });
      isNew.push((path) => files.has(path));
    }
    const newOf = (files: Files): Files => new Map([...files].filter(([path]) => isNew.every((is) => is(path))));
    const { files, blobs } = await repository.added({ from, to, select: (found) => select(newOf(found)) });
    return { files: newOf(files), blobs };
  };
}

interface StateInForce {
  readonly before: DesiredState | undefined;
  readonly problemsBefore: readonly Problem[];
}

/** Where something in the commit is wrong, an older version of it is in force: the history is followed for that. */
async function stateAt(repository: MergeRepository, commit: string): Promise<StateInForce> {
  const alone = await deriveAt(repository, commit, { baseline: EMPTY_BASELINE });
  const problems = problemsOf(alone);
  if (alone.isFollowed) {
    const isWhole = !problems.some(isError) && !straysIn(alone.desired.catalog).some(hasAddress);
    const before = isWhole ? await withLastAdministrators(repository, alone.desired) : undefined;
    if (before === alone.desired) return { before, problemsBefore: problems };
    if (before !== undefined) return await stateUpon(repository, commit, before);
  }
  const found = await searchHistory(repository, commit);
  if (found === undefined) return { before: found, problemsBefore: problems };
  return await stateUpon(repository, commit, await withLastAdministrators(repository, found));
}

/** Judges the problems beside what is in force: only there is a removal of the last administrator a mistake, or a link in place of an object. */
async function stateUpon(repository: MergeRepository, commit: string, before: DesiredState): Promise<StateInForce> {
  return {
    before,
    problemsBefore: problemsOf(await deriveAt(repository, commit, { baseline: before, earlier: before })),
  };
}

function hasAddress({ address }: ReturnType<typeof straysIn>[number]): boolean {
  return address !== null;
}

interface Commits {
  readonly base: string;
  readonly head: string;
}

async function mergedFiles(
  repository: MergeRepository,
  { base, head, ancestors }: Commits & { readonly ancestors: readonly string[] },
): Promise<ReturnType<typeof mergeFiles>> {
  const filesAt = async (commit: string): Promise<Files> => (await repository.snapshot(commit, NO_BLOBS)).files;
  const files = { base: await filesAt(base), head: await filesAt(head) };
  if (!files.base.has(TREE_FILE) && !files.head.has(TREE_FILE)) throw new SourceError(noLayoutText(repository));
  return mergeFiles({ ancestor: await filesBefore(repository, ancestors), ...files });
}

type Files = Snapshot['files'];

const NO_FILES: Files = new Map();
/** How often histories that cross are followed back. Beyond that, what differs between merge bases needs a rebase. */
const CROSSINGS_MAX = 20;

/** Returns the files of the merge base. Of several, one joins after the other, each pair upon their own merge base, as git does. */
async function filesBefore(
  repository: MergeRepository,
  ancestors: readonly string[],
  crossings = CROSSINGS_MAX,
): Promise<Files> {
  let joined: { readonly commit: string; readonly files: Files } | undefined;
  for (const commit of ancestors) {
    const { files } = await repository.snapshot(commit, NO_BLOBS);
    if (joined === undefined) {
      joined = { commit, files };
      continue;
    }
    const isFollowed = crossings > 0 && ancestors.length === 2;
    const earlier = isFollowed ? await findMergeBases(repository, joined.commit, commit) : [];
    const ancestor = await filesBefore(repository, earlier, crossings - 1);
    joined = { commit, files: mergeAncestors({ ancestor, base: joined.files, head: files }) };
  }
  return joined?.files ?? NO_FILES;
}

/** None where histories have come together that are unrelated. */
async function findMergeBases(repository: MergeRepository, a: string, b: string): Promise<readonly string[]> {
  try {
    return await repository.findAncestors(a, b);
  } catch (error) {
    if (error instanceof SourceError) return [];
    throw error;
  }
}

/** Reads only the files that the state in force does not have. */
async function readSnapshot(
  repository: MergeRepository,
  { base, head, files, before }: Commits & { readonly files: Files; readonly before: DesiredState | undefined },
): Promise<Snapshot> {
  const isNew = wantsBlob(before?.catalog);
  const wants = (path: string, oid: string): boolean => files.get(path)?.oid === oid && isNew(path, oid);
  const ofBase = await repository.snapshot(base, wants);
  const ofHead = await repository.snapshot(head, (path, oid) => !ofBase.blobs.has(oid) && wants(path, oid));
  return { commit: head, time: ofHead.time, files, blobs: new Map([...ofBase.blobs, ...ofHead.blobs]) };
}

/** Without this, a plan of the wrong directory would show no effect. */
function noLayoutText({ prefix }: MergeRepository): string {
  const where = prefix === '' ? 'the root of the repository' : `"${prefix}"`;
  return `neither commit has ${TREE_FILE} in ${where}: name the directory where the layout begins`;
}

function needsRebase(file: string, base: string): Problem {
  return {
    ...{ code: 'needs_rebase', severity: 'error', file, line: 1, column: 1, pointer: '' },
    message: `the file was changed differently here and in ${base} since both parted`,
    hint: `merge ${base} into the branch, or rebase it`,
  };
}

type History = Pick<LocalRepository, 'has' | 'describe' | 'snapshot'>;

/**
 * Returns the same desired state where it has an administrator, else with those of the newest commit before it that has some:
 * no commit removes the last ones. See desired/active-versions.ts.
 */
async function withLastAdministrators(repository: History, desired: DesiredState): Promise<DesiredState> {
  if (administratorsIn(desired.clients).length > 0) return desired;
  let registry = await registryAt(repository, desired.commit);
  for await (const commit of firstParents(repository, desired.commit, COMMITS_MAX + 1)) {
    if (commit === desired.commit) continue;
    if (!(await repository.has(commit))) return desired;
    const earlier = await registryAt(repository, commit);
    if (earlier === undefined || earlier === registry) continue;
    registry = earlier;
    const found = await deriveAt(repository, commit, { baseline: EMPTY_BASELINE, earlier: desired });
    const last = found.isFollowed ? administratorsIn(found.desired.clients) : [];
    if (last.length > 0) return { ...desired, clients: new Map([...desired.clients, ...last]) };
  }
  return desired;
}

function administratorsIn(clients: ActiveVersions<Client>): readonly [string, ActiveVersion<Client>][] {
  return [...clients].filter(([, { entry }]) => isFullAdministrator(entry.object));
}

/** Returns the versions of the files of clients, as a text; undefined for a commit that can never be read. */
async function registryAt(repository: History, commit: string): Promise<string | undefined> {
  const snapshot = await orContentError(repository.snapshot(commit, () => false));
  if (snapshot instanceof Error) return undefined;
  return [...snapshot.files]
    .flatMap(([path, { oid }]) => (path.startsWith('clients/') ? [`${path} ${oid}`] : []))
    .join('\n');
}

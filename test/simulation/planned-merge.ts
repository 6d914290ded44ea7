// Plans a merge of the simulated repository with the code of `treeline plan`, and makes the same merge as Git does.
import { readMerge } from '../../src/cli/plan/read-merge.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { planMerge } from '../../src/plan/plan-merge.ts';
import { blobsIn, type GitCommit, type SimulatedGit } from './simulated-git.ts';
import type { ModelFile, ModelFiles } from './stacks.ts';
import { BUDGET } from './watch-deletes.ts';

type ReadMerge = Awaited<ReturnType<typeof readMerge>>;

/** A planned merge; `files` is undefined where Git could not make it without an operator. */
export interface PlannedMerge {
  readonly merge: ReadMerge;
  readonly plan: Plan;
  readonly files: ModelFiles | undefined;
}

/** Returns the plan of merging head into base, with the delete budget of the simulated controllers. */
export async function plannedMerge(git: SimulatedGit, base: string, head: string): Promise<PlannedMerge> {
  const merge = await readMerge(repositoryOf(git), { base, head, budget: BUDGET });
  const plan = planMerge(merge);
  const isWhole = (merge.conflicts ?? []).length === 0;
  return { merge, plan, files: isWhole ? filesOf(git, merge) : undefined };
}

/** The files of the merge are those of one side each. */
function filesOf(git: SimulatedGit, { base, head, snapshot }: ReadMerge): ModelFiles {
  const files = new Map<string, ModelFile>();
  for (const [path, { oid, mode }] of snapshot.files) {
    const sides = [base, head].flatMap((side) => git.at(side).files.get(path) ?? []);
    const file = sides.find((side) => side.oid === oid && side.mode === mode);
    if (file === undefined) throw new Error(`${path} is of neither side`);
    files.set(path, file);
  }
  return files;
}

/** The name of the merge, which only the plan reads. */
const MERGE = 'f'.repeat(40);

/** What a clone has: every commit, at once. */
function repositoryOf(git: SimulatedGit): Parameters<typeof readMerge>[0] {
  let merged: Pick<GitCommit, 'files' | 'time'> | undefined;
  const at = (commit: string): Pick<GitCommit, 'files' | 'time'> =>
    (commit === MERGE ? merged : undefined) ?? git.at(commit);
  return {
    prefix: '',
    has: async () => true,
    resolve: async (revision) => git.at(revision).oid,
    async merge(base, head) {
      const common = [...git.historyOf(head)].find((commit) => git.isAncestor(commit, base));
      const filesAt = (commit: string): ModelFiles => git.at(commit).files;
      const sides = { ancestor: filesAt(common ?? base), ours: filesAt(base), theirs: filesAt(head) };
      const { files, conflicts } = mergeFiles(sides);
      merged = { files, time: git.at(head).time };
      return { commit: MERGE, conflicts };
    },
    async snapshot(commit, wants) {
      const { files, time } = at(commit);
      return { commit, time, files, blobs: blobsIn(files, wants) };
    },
    describe: async (commit) => git.at(commit),
    async commitsBetween(from, to, countMax) {
      const old = git.historyOf(from);
      return [...git.historyOf(to)]
        .filter((one) => !old.has(one))
        .slice(0, countMax)
        .map((one) => git.at(one));
    },
  };
}

type Sides = Readonly<Record<'ancestor' | 'ours' | 'theirs', ModelFiles>>;

/** Merges whole files: the commits of the simulator never change two lines of one. */
function mergeFiles({ ancestor, ours, theirs }: Sides): { files: ModelFiles; conflicts: readonly string[] } {
  const files = new Map(ours);
  const conflicts: string[] = [];
  for (const path of new Set([...ours.keys(), ...theirs.keys()])) {
    const [was, our, their] = [ancestor, ours, theirs].map((side) => side.get(path));
    if (isSame(our, their) || isSame(was, their)) continue;
    if (!isSame(was, our)) conflicts.push(path);
    else if (their === undefined) files.delete(path);
    else files.set(path, their);
  }
  const inFolderOfFile = [...files.keys()].filter((path) => parentsOf(path).some((parent) => files.has(parent)));
  return { files, conflicts: [...conflicts, ...inFolderOfFile] };
}

function isSame(a: ModelFile | undefined, b: ModelFile | undefined): boolean {
  return a?.oid === b?.oid && a?.mode === b?.mode;
}

function parentsOf(path: string): readonly string[] {
  const steps = path.split('/');
  return steps.slice(1).map((_, index) => steps.slice(0, index + 1).join('/'));
}

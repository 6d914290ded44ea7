// Plans a merge of the simulated repository with the code of `treeline plan`, and makes the same merge as Git does.
import { readMerge } from '../../src/cli/plan/read-merge.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { planMerge } from '../../src/plan/plan-merge.ts';
import type { SimulatedGit } from './simulated-git.ts';
import type { ModelFile, ModelFiles } from './stacks.ts';
import { BUDGET } from './watch-deletes.ts';

type ReadMerge = Awaited<ReturnType<typeof readMerge>>;

/** A planned merge; `files` is undefined where Git could not make it without a person. */
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

/** What a clone has: every commit, at once. */
function repositoryOf(git: SimulatedGit): Parameters<typeof readMerge>[0] {
  return {
    prefix: '',
    has: async () => true,
    resolve: async (revision) => git.at(revision).oid,
    async findAncestors(base, head) {
      const common = [...git.historyOf(head)].filter((commit) => git.isAncestor(commit, base));
      return common.filter((commit) => !common.some((other) => other !== commit && git.isAncestor(commit, other)));
    },
    async snapshot(commit, wants) {
      const { files, time } = git.at(commit);
      const blobs = new Map<string, Uint8Array>();
      for (const [path, { oid, mode, bytes }] of files) {
        const isFile = mode === '100644' || mode === '100755';
        if (isFile && wants(path, oid)) blobs.set(oid, bytes);
      }
      return { commit, time, files, blobs };
    },
    async added({ from, to, select }) {
      const [before, after] = [git.at(from).files, git.at(to).files];
      const files = new Map([...after].filter(([path]) => !before.has(path)));
      const wanted = new Set(select(files));
      const all = [...before.values(), ...after.values()].filter(({ oid }) => wanted.has(oid));
      return { files, blobs: new Map(all.map(({ oid, bytes }) => [oid, bytes])) };
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

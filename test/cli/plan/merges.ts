// Plans merges of real commits, in the way of `treeline plan`, without a process.
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type MergeOrder, readMerge } from '../../../src/cli/plan/read-merge.ts';
import type { Plan } from '../../../src/plan/plan.ts';
import { planMerge } from '../../../src/plan/plan-merge.ts';
import { openLocalRepository } from '../../../src/repository/local-repository.ts';
import { createGitRepository, type GitRepository } from '../../support/git-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Makes an empty repository. */
export function emptyRepository(options: { readonly bare?: boolean } = {}): Promise<GitRepository> {
  return createGitRepository(join(temporaryDirectory(), 'stacks.git'), options);
}

/** Returns the plan of merging `branch` into `main`. `path`: where the layout begins. */
export async function planAt(path: string, order: Partial<MergeOrder> = {}): Promise<Plan> {
  const repository = await openLocalRepository(path);
  onTestFinished(() => repository.close());
  return planMerge(await readMerge(repository, { base: 'main', head: 'branch', budget: 100, ...order }));
}

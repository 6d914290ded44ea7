// The order of the test files. One that takes half a minute and begins last would run alone at the end.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, mostly since they wait for processes; the order among them matters little. */
const LONGEST = [
  'test/tutorial.test.ts',
  'test/scenario/proxies.test.ts',
  'test/repository/hostile-push.test.ts',
  'test/contrib/plan-comments.test.ts',
  'test/repository/remotes/http-faults.test.ts',
  'test/providers/exec/exec-provider.test.ts',
  'test/cli/provider-command.test.ts',
  'test/cli/demo.test.ts',
  'test/readme.test.ts',
  'test/scenario/kill-processes.test.ts',
  'test/cli/store-command.test.ts',
  'test/command.test.ts',
  'test/contrib/ssh.test.ts',
  'test/contrib/pipelines.test.ts',
  'test/contrib/local-server.test.ts',
  'test/scenario/statuses.test.ts',
  'test/scenario/budget.test.ts',
  'test/scenario/operations.test.ts',
  'test/simulation/simulation.test.ts',
  'test/scenario/commits-during-rollout.test.ts',
  'test/packed.test.ts',
];

/** Starts the files of {@link LONGEST} first, and the others as vitest does. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const at = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
  return at === -1 ? LONGEST.length : at;
}

// The order of the test files. One that takes half a minute and begins last would run alone at the end.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, mostly since they wait for processes; the order among them matters little. Those with a worker
 * of their own stand together: a shared worker ends where one of them is the next.
 */
const LONGEST = [
  'test/tutorial.test.ts',
  'test/readme.test.ts',
  'test/simulation/simulation.test.ts',
  'test/counted-work.test.ts',
  'test/scenario/writes.test.ts',
  'test/scenario/proxies.test.ts',
  'test/store/postgres/postgres-store.test.ts',
  'test/cli/provider-command.test.ts',
  'test/providers/exec/exec-provider.test.ts',
  'test/contrib/ssh.test.ts',
  'test/packed.test.ts',
  'test/cli/store-command.test.ts',
  'test/command.test.ts',
  'test/repository/git-source.test.ts',
  'test/contrib/local-server.test.ts',
  'test/scenario/budget.test.ts',
  'test/api/rights-during-work.test.ts',
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

// The order of the test files. One that takes half a minute and begins last would run alone at the end.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, mostly since they wait for processes; the order among them matters little. */
const LONGEST = [
  'test/scenario/kill-processes.test.ts',
  'test/contrib/conformance.test.ts',
  'test/scenario/kill.test.ts',
  'test/scenario/proxies.test.ts',
  'test/cli/demo-second-start.test.ts',
  'test/contrib/terraform.test.ts',
  'test/cli/demo-proxy.test.ts',
  'test/tutorial.test.ts',
  'test/scenario/processes.test.ts',
  'test/simulation/simulation.test.ts',
  'test/source/remotes/http-faults.test.ts',
  'test/source/hostile-push.test.ts',
  'test/cli/store-command.test.ts',
  'test/readme.test.ts',
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

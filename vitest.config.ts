// Configures the tests. With TEST_REPORT set, as .ci/run does, the results are also written to that file as JSON.
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { COMPILED } from './test/support/bundle-once.ts';

const report = process.env.TEST_REPORT;

/** Tests that measure memory or depend on the state of their process: each starts a worker of its own. */
const ALONE = [
  'test/counted-work.test.ts',
  'test/simulation/**/*.test.ts',
  'test/repository/counted-git.test.ts',
  'test/repository/hostile-push.test.ts',
];

/** Commands that a test calls in its own process run in the root folder: in this one they would find a demo. */
const IN_ROOT_FOLDER = { npm_package_name: 'treeline', npm_lifecycle_event: 'test', INIT_CWD: '/' };

/** The files that take longest, mostly since they wait for processes. One that began last would run alone at the end. */
const LONGEST = [
  'test/readme.test.ts',
  'test/compose/replicas.test.ts',
  'test/page/page.test.ts',
  'test/repository/fetch.test.ts',
  'test/scenario/commits.test.ts',
  'test/scenario/writes.test.ts',
  'test/scenario/proxies.test.ts',
  'test/store/postgres/lease.test.ts',
  'test/store/postgres/postgres-store.test.ts',
  'test/providers/exec/exec-provider.test.ts',
  'test/contrib/ssh.test.ts',
  'test/contrib/pipelines.test.ts',
  'test/contrib/local-server.test.ts',
  'test/packed.test.ts',
  'test/cli/provider-command.test.ts',
];

/** Starts the files with a worker of their own first, since a shared worker ends where one of them is the next, and then the longest. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId, project }: TestSpecification): number {
  if (project.name === 'alone') return -1;
  const at = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
  return at === -1 ? LONGEST.length : at;
}

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'alone', include: ALONE } },
      // To load the program takes longer than most of these tests: they share workers instead of starting one a file.
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: ALONE,
          isolate: false,
          globalSetup: 'test/support/bundle-once.ts',
        },
      },
    ],
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    // Three times as many as two processors: much of what these tests do is wait for processes, deadlines and disks.
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    // See bundle-once.ts.
    env: { NODE_COMPILE_CACHE: COMPILED, ...IN_ROOT_FOLDER },
    // A limit for tests that hang: on two busy processors the slowest ones take two minutes.
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});

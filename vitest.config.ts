// Configures the tests. With TEST_REPORT set, as .ci/run does, the results are also written to that file as JSON.
// `npm run coverage` runs the tests of the pure stages again, and measures which branches they reach: measuring all tests would
// keep every program that they start from using its compiled form.
import { defineConfig } from 'vitest/config';
import { COMPILED } from './test/support/bundle-once.ts';
import { LongestFirst } from './test/support/longest-first.ts';

const report = process.env.TEST_REPORT;
/** Each by itself: one that is tested well must not make up for another. */
const PURE = [
  'src/catalog/**',
  'src/yaml-edit/**',
  'src/expand/**',
  'src/hiera/**',
  'src/desired/**',
  'src/plan/**',
  'src/machine/**',
  'src/derive.ts',
];

/** Tests that start no process and keep nothing outside of themselves. They reach all of the pure stages. */
const STATELESS = [
  'test/catalog/**/*.test.ts',
  'test/derive*.test.ts',
  'test/desired/**/*.test.ts',
  'test/expand/**/*.test.ts',
  'test/follow/**/*.test.ts',
  'test/golden.test.ts',
  'test/hiera/**/*.test.ts',
  'test/import/**/*.test.ts',
  'test/machine/**/*.test.ts',
  'test/model/**/*.test.ts',
  'test/plan/**/*.test.ts',
  'test/reconcile/**/*.test.ts',
  'test/sample-repo.test.ts',
  'test/service/**/*.test.ts',
  'test/texts/problems.test.ts',
  'test/yaml-edit/**/*.test.ts',
];

/** Tests that measure memory, count calls or depend on the state of their process: each starts a worker of its own. */
const ALONE = [
  'test/scenario/parses-of-a-write.test.ts',
  'test/counted-work.test.ts',
  'test/simulation/**/*.test.ts',
  'test/repository/counted-git.test.ts',
  'test/repository/hostile-push.test.ts',
];

/** Commands that a test calls in its own process run in the root folder: in this one they would find a demo. */
const IN_ROOT_FOLDER = { npm_package_name: 'treeline', npm_lifecycle_event: 'test', INIT_CWD: '/' };

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
          exclude: [...ALONE, ...STATELESS],
          isolate: false,
          globalSetup: 'test/support/bundle-once.ts',
        },
      },
      { extends: true, test: { name: 'stateless', include: STATELESS, isolate: false } },
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
    coverage: {
      provider: 'v8',
      include: PURE,
      reporter: ['text', 'json-summary'],
      thresholds: Object.fromEntries(PURE.map((files) => [files, { branches: 95 }])),
    },
  },
});

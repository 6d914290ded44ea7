// Configures the tests that take minutes: one file after the other, since they depend on how time passes. Properties, of which
// `npm test` tries a part, are tried in full; see count-runs.ts. TEST_REPORT as in vitest.config.ts.
import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { COMPILED } from './test/support/bundle-once.ts';

const PROPERTIES = globSync(['test/*.test.ts', 'test/!(scenario)/**/*.test.ts']).filter((file) =>
  readFileSync(file, 'utf8').includes('support/count-runs.ts'),
);

const report = process.env.TEST_REPORT;
const SCENARIOS = ['test/scenario/**/*.{test,long}.ts'];
/** What these have to do with is the files of the embedded store. */
const ON_FILES = ['test/scenario/full-disk.long.ts'];

// biome-ignore lint/style/noDefaultExport: vitest asks for it
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'long',
          include: ['test/long/**/*.long.ts', ...PROPERTIES],
          globalSetup: 'test/support/bundle-once.ts',
        },
      },
      { extends: true, test: { name: 'scenarios', include: SCENARIOS, globalSetup: 'test/support/bundle-once.ts' } },
      {
        extends: true,
        test: {
          name: 'scenarios on postgres',
          include: SCENARIOS,
          exclude: ON_FILES,
          globalSetup: ['test/support/bundle-once.ts', 'test/support/scenario-database.ts'],
          env: { SCENARIO_STORE: 'postgres' },
        },
      },
    ],
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    fileParallelism: false,
    env: { NODE_COMPILE_CACHE: COMPILED, PROPERTY_RUNS: 'all' },
    testTimeout: 600_000,
    // Folders with installed packages are removed too.
    hookTimeout: 120_000,
  },
});

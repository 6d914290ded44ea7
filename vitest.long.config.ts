// Configures the tests that take minutes: one file after the other, since they depend on how time passes. Properties, of which
// `npm test` tries a part, are tried in full; see count-runs.ts.
import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { COMPILED } from './test/support/bundle-once.ts';

const PROPERTIES = globSync('test/**/*.test.ts').filter((file) =>
  readFileSync(file, 'utf8').includes('support/count-runs.ts'),
);

// biome-ignore lint/style/noDefaultExport: vitest asks for it
export default defineConfig({
  test: {
    include: ['test/long/**/*.long.ts', ...PROPERTIES],
    fileParallelism: false,
    globalSetup: 'test/support/bundle-once.ts',
    env: { NODE_COMPILE_CACHE: COMPILED, PROPERTY_RUNS: 'all' },
    testTimeout: 600_000,
  },
});

// Configures the tests. With TEST_REPORT set, as .ci/run does, the results are also written to that file as JSON, and the
// coverage of the pure stages has to be high enough.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const report = process.env.TEST_REPORT;
/** Each by itself: one that is tested well must not make up for another. */
const PURE = [
  'src/catalog/**',
  'src/yaml-edit/**',
  'src/expand/**',
  'src/hiera/**',
  'src/desired/**',
  'src/machine/**',
  'src/derive.ts',
];

export default defineConfig({
  test: {
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    include: ['test/**/*.test.ts'],
    // By default vitest leaves one core alone, and most of what these tests do is wait for processes and disks.
    maxWorkers: 2,
    // Tests start the program some hundred times; compiled once, it starts in half the time.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    coverage: {
      enabled: report !== undefined,
      provider: 'v8',
      include: ['src/**'],
      reporter: ['text', 'json-summary'],
      thresholds: Object.fromEntries(PURE.map((files) => [files, { branches: 95 }])),
    },
  },
});

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

/** Tests that start no process and keep nothing outside of themselves: they share two workers instead of starting one a file. */
const STATELESS = [
  'test/catalog/**/*.test.ts',
  'test/desired/**/*.test.ts',
  'test/execute/**/*.test.ts',
  'test/expand/**/*.test.ts',
  'test/follow/**/*.test.ts',
  'test/hiera/**/*.test.ts',
  'test/machine/**/*.test.ts',
  'test/model/**/*.test.ts',
  'test/reconcile/**/*.test.ts',
  'test/service/**/*.test.ts',
  'test/yaml-edit/**/*.test.ts',
];

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'stateless', include: STATELESS, isolate: false } },
      { extends: true, test: { name: 'parts', include: ['test/**/*.test.ts'], exclude: STATELESS } },
    ],
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
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

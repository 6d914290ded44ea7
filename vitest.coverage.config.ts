// Configures `npm run coverage`: runs the tests of the pure stages, and measures which branches they reach. Measuring all tests would
// keep every program that they start from using its compiled form.
import { defineConfig } from 'vitest/config';

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

/** Tests that start no process. They reach all of the pure stages. */
const TESTS = [
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

// biome-ignore lint/style/noDefaultExport: vitest asks for it
export default defineConfig({
  test: {
    include: TESTS,
    isolate: false,
    testTimeout: 240_000,
    coverage: {
      provider: 'v8',
      include: PURE,
      reporter: ['text', 'json-summary'],
      thresholds: Object.fromEntries(PURE.map((files) => [files, { branches: 95 }])),
    },
  },
});

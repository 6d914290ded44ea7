// Configures the tests that take minutes: one file after the other, since they depend on how time passes.
import { defineConfig } from 'vitest/config';
import { COMPILED } from './test/support/bundle-once.ts';

// biome-ignore lint/style/noDefaultExport: vitest asks for it
export default defineConfig({
  test: {
    include: ['test/long/**/*.long.ts'],
    fileParallelism: false,
    globalSetup: 'test/support/bundle-once.ts',
    env: { NODE_COMPILE_CACHE: COMPILED },
    testTimeout: 600_000,
  },
});

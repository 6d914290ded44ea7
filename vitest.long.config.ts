// Configures the tests that take minutes: one file after the other, since they depend on how time passes.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// biome-ignore lint/style/noDefaultExport: vitest asks for it
export default defineConfig({
  test: {
    include: ['test/long/**/*.long.ts'],
    fileParallelism: false,
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    testTimeout: 600_000,
  },
});

// Others are served while the files of a large commit are parsed.
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSlices, WORK_SLICE_MS } from '../../src/base/slices.ts';
import { EMPTY_BASELINE } from '../../src/desired/desired-state.ts';
import { deriveAt } from '../../src/follow/read-commit.ts';
import { TREE } from '../catalog/snapshots.ts';
import { TextSource } from '../support/text-source.ts';

const FILES = 20;

test('others have their turn between any two files', async () => {
  const files = Array.from({ length: FILES }, (_, n) => [`types/role/r${n}.yaml`, `n: ${n}\n`] as const);
  const source = new TextSource();
  const commit = source.commit({ 'tree.yaml': TREE, ...Object.fromEntries(files) });
  let turns = 0;
  let now = 0;
  const inSlices = createSlices({
    // Each step uses up its slice.
    monotonic: () => (now += WORK_SLICE_MS),
    nextTurn: async () => {
      turns += 1;
      await setImmediate();
    },
  });
  const derivation = await deriveAt(source, commit, { baseline: EMPTY_BASELINE, inSlices });
  expect(derivation.isFollowed).toBe(true);
  expect(turns).toBeGreaterThanOrEqual(FILES);
});

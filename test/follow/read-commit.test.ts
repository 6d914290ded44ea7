// Others are served while the files of a large commit are parsed.
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { breatheBy, TURN_MS } from '../../src/base/breathe.ts';
import { EMPTY_BASELINE } from '../../src/desired/desired-state.ts';
import { deriveAt } from '../../src/follow/read-commit.ts';
import { TREE } from '../catalog/snapshots.ts';
import { TextSource } from '../support/text-source.ts';

const FILES = 20;

test('deriveAt pauses between files', async () => {
  const files = Array.from({ length: FILES }, (_, n) => [`types/role/r${n}.yaml`, `n: ${n}\n`] as const);
  const source = new TextSource();
  const commit = source.commit({ 'tree.yaml': TREE, ...Object.fromEntries(files) });
  let turns = 0;
  let now = 0;
  const breathe = breatheBy({
    // Each file takes a whole turn.
    monotonic: () => (now += TURN_MS),
    nextTurn: async () => {
      turns += 1;
      await setImmediate();
    },
  });
  const derivation = await deriveAt(source, commit, { baseline: EMPTY_BASELINE, breathe });
  expect(derivation.isFollowed).toBe(true);
  expect(turns).toBeGreaterThanOrEqual(FILES);
});

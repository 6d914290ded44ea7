import { expect, it } from 'vitest';
import { watchEndlessRuns } from './endless-runs.ts';
import { playVariants } from './variants.ts';

/** A few seconds' worth. `npm run test:long` plays many more. */
const SEEDS = 3;
/** In the first few, hardly anything goes. */
const FROM = 7;
/** Each plays its history once for every way; on a machine that many share, that may be minutes. */
const LIMIT_MS = 400_000;

it(
  'loses in no way of playing a history what stays where each commit is brought to rest',
  async () => {
    const noteRun = watchEndlessRuns();
    const totals = { kept: 0, lost: 0 };
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      noteRun(seed);
      const { differences, kept, lost } = await playVariants(seed);
      expect(differences, `npm run simulate -- --variants --seed ${seed}`).toEqual([]);
      totals.kept += kept;
      totals.lost += lost;
    }
    // Where nothing stays or nothing goes, there is nothing to tell apart.
    expect(totals.kept).toBeGreaterThan(SEEDS);
    expect(totals.lost).toBeGreaterThan(SEEDS / 2);
  },
  LIMIT_MS,
);

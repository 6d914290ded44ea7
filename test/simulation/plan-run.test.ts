import { describe, expect, it } from 'vitest';
import { type PlanRun, planAndApply } from './plan-run.ts';

/** A few seconds' worth. `npm run test:long` runs thousands. */
const SEEDS = 10;

describe('a merge does what its plan says', () => {
  it('for some pairs of desired states', async () => {
    const runs: PlanRun[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const run = await planAndApply(seed);
      expect(run.differences, `npm run simulate -- --plans --seed ${seed}`).toEqual([]);
      runs.push(run);
    }
    const compared = runs.filter(({ kind }) => kind === 'compared');
    expect(compared.length).toBeGreaterThan(SEEDS * 0.7);
    expect(compared.reduce((sum, { actions }) => sum + actions, 0)).toBeGreaterThan(SEEDS);
    expect(compared.filter(({ plan }) => plan?.held != null).length).toBeGreaterThan(0);
  }, 60_000);

  it('in the same way for the same seed', async () => {
    expect(await planAndApply(3)).toEqual(await planAndApply(3));
  });
});

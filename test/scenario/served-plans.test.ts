import { expect, it } from 'vitest';
import { countRuns } from '../support/count-runs.ts';
import { planAndServe } from './served-plans.ts';

/** Seeds whose plans create, update, delete and hold. `npm run test:long` takes dozens. */
it.each(Array.from({ length: countRuns(3) }, (_, index) => index + 1))(
  'a controller does what `treeline plan` says of a merge (seed %d)',
  async (seed) => {
    const served = await planAndServe(seed);
    expect(served.differences).toEqual([]);
  },
  60_000,
);

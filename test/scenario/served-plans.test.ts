import { expect, it } from 'vitest';
import { planAndServe } from './served-plans.ts';

/** Seeds whose plans create, update, delete and hold. `npm run test:long` takes dozens. */
it.each([1, 2, 3])(
  'a controller does what `treeline plan` says of a merge (seed %d)',
  async (seed) => {
    const served = await planAndServe(seed);
    expect(served.differences).toEqual([]);
  },
  60_000,
);

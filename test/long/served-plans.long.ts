import { expect, it } from 'vitest';
import { planAndServe } from '../scenario/served-plans.ts';

const SEEDS = 36;
const FIRST = 100;

it.each(Array.from({ length: SEEDS }, (_, index) => FIRST + index))(
  'a controller does what `treeline plan` says of a merge (seed %d)',
  async (seed) => {
    const { plan, differences } = await planAndServe(seed);
    process.stderr.write(
      `seed ${seed}: ${plan.changes.length} changes, ${plan.held === null ? 'nothing held' : 'held'}\n`,
    );
    expect(differences).toEqual([]);
  },
);

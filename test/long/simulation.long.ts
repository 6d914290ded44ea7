import { expect, it } from 'vitest';
import { simulate } from '../simulation/simulate.ts';

const SEEDS = 200_000;

it(`keeps every promise over ${SEEDS} seeds`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { violation } = await simulate(seed);
    expect(violation, `npm run simulate -- --seed ${seed}`).toBeUndefined();
  }
}, 7_200_000);

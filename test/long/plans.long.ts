import { expect, it } from 'vitest';
import { planAndApply } from '../simulation/plan-run.ts';

const SEEDS = 5_000;
/** Ten minutes on a machine that does nothing else. */
const LIMIT_MS = 2 * 3_600_000;

it(
  `${SEEDS} merges do what their plans say`,
  async () => {
    let compared = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { kind, differences } = await planAndApply(seed);
      expect(differences, `npm run simulate -- --plans --seed ${seed}`).toEqual([]);
      if (kind === 'compared') compared += 1;
      if (seed % 500 === 0) process.stderr.write(`${seed} of ${SEEDS} seeds, ${compared} compared\n`);
    }
    expect(compared).toBeGreaterThan(SEEDS * 0.8);
  },
  LIMIT_MS,
);

import { expect, it } from 'vitest';
import { simulate } from '../simulation/simulate.ts';

const SEEDS = 200_000;
/** Between two lines that tell how far it is. */
const SEEDS_A_LINE = 5_000;
/** Half an hour on a machine that does nothing else; one that is shared may take ten times as long. */
const LIMIT_MS = 6 * 3_600_000;

it(
  `keeps every promise over ${SEEDS} seeds`,
  async () => {
    const began = performance.now();
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { violation } = await simulate(seed);
      expect(violation, `npm run simulate -- --seed ${seed}`).toBeUndefined();
      if (seed % SEEDS_A_LINE === 0) tell(seed, (performance.now() - began) / 1000);
    }
  },
  LIMIT_MS,
);

function tell(seeds: number, seconds: number): void {
  const left = ((SEEDS - seeds) * seconds) / seeds / 60;
  process.stderr.write(
    `${seeds} of ${SEEDS} seeds, ${(seeds / seconds).toFixed(0)} a second; ${left.toFixed(0)} minutes left\n`,
  );
}

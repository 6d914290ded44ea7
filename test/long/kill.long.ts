// The whole controller under many more kills than test/scenario/kill.test.ts has time for. `npm run test:long`.
import { expect, it } from 'vitest';
import { killAgainAndAgain } from '../support/killed-controller.ts';

const RUNS = 6;
const KILLS = 30;

it.each(Array.from({ length: RUNS }, (_, run) => run + 1))(
  `run %d of ${RUNS}: starts unaided after each of ${KILLS} kills, has lost nothing, and ends as wanted`,
  async () => {
    await killAgainAndAgain(KILLS);
    expect.hasAssertions();
  },
);

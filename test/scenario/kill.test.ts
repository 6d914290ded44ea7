// The whole controller under kill -9. test/long/kill.long.ts does it many times more.
import { expect, it } from 'vitest';
import { killAgainAndAgain } from '../support/killed-controller.ts';

it('starts unaided after each of 4 kills, has lost nothing, and ends as wanted', { timeout: 180_000 }, async () => {
  await killAgainAndAgain(4);
  expect.hasAssertions();
});

// Many more writes at once than test/scenario/writes.test.ts has time for. `npm run test:long`.
import { expect, it } from 'vitest';
import { writeBesideOutsider } from '../support/busy-writers.ts';

it('2,000 writes of twenty writers, and an outsider who pushes all the time', async () => {
  await writeBesideOutsider({ writers: 20, writes: 100 });
  expect.hasAssertions();
});

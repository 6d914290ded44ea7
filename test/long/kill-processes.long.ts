// A controller and proxies with real processes as servers, under kill -9: 100 kills with few servers, and 1,000 with 200 whose
// creates take up to 10 s. `npm run test:long`.
import { expect, it } from 'vitest';
import { killProcesses, SMALL_RUN } from '../support/killed-processes.ts';

it('100 kills of controller and proxies with few servers lose no process, leak none, and make none twice', async () => {
  await killProcesses({ ...SMALL_RUN, kills: 100 });
  expect.hasAssertions();
});

it('1,000 kills of controller and proxies lose no process, leak none, and make none twice', {
  timeout: 5_400_000,
}, async () => {
  await killProcesses({
    kills: 1000,
    instances: 10,
    servers: [5, 15],
    createSeconds: '1-10',
    timeoutSeconds: 40,
    pauseMsMax: 2_500,
  });
  expect.hasAssertions();
});

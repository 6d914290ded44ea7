// A controller and proxies under kill -9: 100 kills with few servers, and 1,000 with 200. `npm run test:long`; FAULTS_SEED repeats the
// choices of a run.
import { expect, it } from 'vitest';
import { killProcesses, SMALL_RUN } from '../support/killed-processes.ts';

const SEED = Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 31));

it('100 kills of controller and proxies with few servers lose no server, leak none, and make none twice', async () => {
  await killProcesses({ ...SMALL_RUN, kills: 100, seed: SEED });
  expect.hasAssertions();
});

it('1,000 kills of controller and proxies lose no server, leak none, and make none twice', {
  timeout: 5_400_000,
}, async () => {
  await killProcesses({
    kills: 1000,
    seed: SEED,
    instances: 10,
    servers: [5, 15],
    callSeconds: 4,
    timeoutSeconds: 40,
    pauseMsMax: 2_500,
  });
  expect.hasAssertions();
});

// The kills of test/scenario/kill-processes.test.ts, ten times as many, with 200 servers whose creates take up to 10 s.
// `npm run test:long`.
import { expect, it } from 'vitest';
import { killProcesses } from '../support/killed-processes.ts';

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

// A controller and proxies with real processes as servers, under kill -9. test/long/kill-processes.long.ts does it ten
// times more often, with ten times the servers.
import { expect, it } from 'vitest';
import { killProcesses } from '../support/killed-processes.ts';

it('100 kills of controller and proxies lose no process, leak none, and make none twice', {
  timeout: 300_000,
}, async () => {
  await killProcesses({
    kills: 100,
    instances: 2,
    servers: [2, 8],
    createSeconds: '0.1-1',
    timeoutSeconds: 15,
    pauseMsMax: 400,
  });
  expect.hasAssertions();
});

// A controller and proxies with real processes as servers, under kill -9. test/long/kill-processes.long.ts does it more
// often, and with ten times the servers.
import { expect, it } from 'vitest';
import { killProcesses, SMALL_RUN } from '../support/killed-processes.ts';

it('3 kills of controller and proxies lose no process, leak none, and make none twice', {
  timeout: 300_000,
}, async () => {
  await killProcesses({ ...SMALL_RUN, kills: 3 });
  expect.hasAssertions();
});

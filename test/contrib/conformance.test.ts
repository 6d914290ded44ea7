// Runs `treeline provider test` against a program of contrib/providers. test/long/conformance.long.ts does so with the
// two that take long: each of their calls starts Terraform or ssh.
import { it } from 'vitest';
import { CONFORMANCE_MS_MAX, expectConformance } from '../support/expect-conformance.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

it('local-server keeps the contract', { timeout: CONFORMANCE_MS_MAX }, async () => {
  await expectConformance('local-server/local-server.mjs', { LOCAL_SERVER_DIRECTORY: temporaryDirectory() });
});

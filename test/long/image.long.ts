// The image, on machines without an engine: scripts/image-steps.sh takes the steps of the Dockerfile in a folder and runs
// what comes out. As root it runs as another user; else that part is skipped, and the name of the test says so.
// `npm run test:long`.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, run } from '../support/command-line.ts';

const STEPS_MS_MAX = 120_000;

const skipped =
  process.getuid?.() === 0 ? '' : ' (as the same user: running as another one needs root, and is skipped)';

it(`what the steps make gets every stack done and stops cleanly${skipped}`, { timeout: STEPS_MS_MAX }, async () => {
  // npm sets NODE to its own, which may be too old.
  const ended = await run(join(ROOT, 'scripts/image-steps.sh'), [], {
    env: { NODE: process.execPath },
    timeoutMs: STEPS_MS_MAX,
  });
  expect(ended.code, ended.stderr).toBe(0);
  expect(ended.stdout).toContain('/readyz answers 200, and every instance is Done\n');
  expect(ended.stdout).toContain('SIGTERM ended it cleanly\n');
  // Also as root it may be skipped, where the machine cannot change users: then the reason is worth more than a name.
  const reason = /SKIPPED: .*/.exec(ended.stdout)?.[0];
  if (reason !== undefined) process.stdout.write(`${reason}\n`);
  else expect(ended.stdout).toContain('running as user 10001\n');
});

// docs/tasks.md as it is written, with what npm packs and installs, and the Node that it brings. `npm run test:long`; test/tasks.test.ts
// follows it with a quick npm.
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/command-line.ts';
import { operator, TASK_ORDER } from '../support/followed-tasks.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

it('works as it is written, with the package and the Node of npm', { timeout: 900_000 }, async () => {
  const clone = join(temporaryDirectory(), 'treeline');
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files) cpSync(join(ROOT, file), join(clone, file));
  const { follow } = await operator(clone);
  for (const task of TASK_ORDER) await follow(task);
  expect.hasAssertions();
});

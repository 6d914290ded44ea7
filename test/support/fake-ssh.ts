// A program in the place of ssh that runs the command here, as git's own tests have it.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';
import { temporaryDirectory } from './temporary-directory.ts';

/** What the host does with the last argument, the command. */
export const OBEY = 'for command; do :; done\nexec sh -c "$command"';

/** Puts a program in the place of ssh. The test has to call `vi.unstubAllEnvs()` in the end. */
export async function fakeSsh() {
  const folder = temporaryDirectory();
  const program = join(folder, 'ssh');
  const log = join(folder, 'calls');
  /** From now on, it runs this script. */
  const become = (script: string): Promise<void> =>
    writeFile(program, `#!/bin/sh\necho "$@" >> ${log}\n${script}\n`, { mode: 0o755 });
  await become(OBEY);
  vi.stubEnv('GIT_SSH_COMMAND', program);
  /** A line for each call: its arguments. */
  const calls = (): readonly string[] => readFileSync(log, 'utf8').trim().split('\n');
  return { become, calls };
}

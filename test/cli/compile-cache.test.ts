// The compile cache is trusted like the sources: no other user may write there.
import { chownSync, cpSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, run } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const NOBODY = 65534;
const VERSION = 'unset NODE_COMPILE_CACHE; umask 0; exec';

/** A clone with a `node_modules` of its own, for a user. */
function cloneFor(user: number): string {
  const clone = temporaryDirectory();
  for (const part of ['package.json', 'src', 'schemas'])
    cpSync(join(ROOT, part), join(clone, part), { recursive: true });
  mkdirSync(join(clone, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules')).filter((name) => !name.startsWith('.cache'))) {
    symlinkSync(join(ROOT, 'node_modules', name), join(clone, 'node_modules', name));
  }
  for (const path of [clone, join(clone, 'node_modules')]) chownSync(path, user, user);
  return clone;
}

it.runIf(process.getuid?.() === 0)(
  'is kept for each user where only that user may write, whatever the umask',
  async () => {
    const clone = cloneFor(NOBODY);
    const asNobody = `${VERSION} setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups "$0" src/cli.js --version`;
    for (const [user, script] of [
      [0, `${VERSION} "$0" src/cli.js --version`],
      [NOBODY, asNobody],
    ] as const) {
      expect(await run('/bin/sh', ['-c', script, process.execPath], { cwd: clone })).toMatchObject({
        code: 0,
        stderr: '',
      });
      const cache = join(clone, 'node_modules', `.cache-${user}`);
      const { mode, uid } = statSync(join(cache, 'compiled'));
      expect([statSync(cache).mode & 0o777, mode & 0o777, uid]).toEqual([0o755, 0o755, user]);
      expect(readdirSync(join(cache, 'compiled'))).toEqual([expect.stringContaining(process.version)]);
    }
  },
);

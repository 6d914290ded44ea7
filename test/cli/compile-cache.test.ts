// The compile cache is trusted like the sources: no other user may write there.
import { cpSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, run } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Returns a clone with a `node_modules` of its own. */
function cloneOfItsOwn(): string {
  const clone = temporaryDirectory();
  for (const part of ['package.json', 'src', 'schemas'])
    cpSync(join(ROOT, part), join(clone, part), { recursive: true });
  mkdirSync(join(clone, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules')).filter((name) => name !== '.cache')) {
    symlinkSync(join(ROOT, 'node_modules', name), join(clone, 'node_modules', name));
  }
  return clone;
}

function versionIn(clone: string): ReturnType<typeof run> {
  const script = 'unset NODE_COMPILE_CACHE; umask 0; exec "$0" src/cli.js --version';
  return run('/bin/sh', ['-c', script, process.execPath], { cwd: clone });
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

it('is kept where only its user may write, also with a umask of 0', async () => {
  const clone = cloneOfItsOwn();
  expect(await versionIn(clone)).toMatchObject({ code: 0, stderr: '' });
  const cache = join(clone, 'node_modules', '.cache');
  expect(readdirSync(join(cache, 'compiled'))).toHaveLength(1);
  expect([modeOf(cache), modeOf(join(cache, 'compiled'))]).toEqual([0o700, 0o700]);
});

it('is not kept where it cannot be, and the command goes on', async () => {
  const clone = cloneOfItsOwn();
  writeFileSync(join(clone, 'node_modules', '.cache'), 'no directory');
  expect(await versionIn(clone)).toMatchObject({ code: 0, stderr: '' });
});

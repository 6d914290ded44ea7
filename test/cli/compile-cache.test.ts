// The compile cache is trusted like the sources: no other user may write there.
import { chownSync, cpSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { CACHE, ROOT, run } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Returns a clone with a `node_modules` of its own. */
function cloneOfItsOwn(): string {
  const clone = temporaryDirectory();
  for (const part of ['package.json', 'src', 'schemas'])
    cpSync(join(ROOT, part), join(clone, part), { recursive: true });
  mkdirSync(join(clone, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules')).filter((name) => !name.startsWith('.cache'))) {
    symlinkSync(join(ROOT, 'node_modules', name), join(clone, 'node_modules', name));
  }
  return clone;
}

function versionIn(clone: string): ReturnType<typeof run> {
  const script = 'unset NODE_COMPILE_CACHE; umask 0; exec "$0" src/cli.js --version';
  return run('/bin/sh', ['-c', script, process.execPath], { cwd: clone });
}

const NOBODY = 65534;

const modeOf = (path: string): number => statSync(path).mode & 0o777;

it('is kept where only its user may write, also with a umask of 0', async () => {
  const clone = cloneOfItsOwn();
  expect(await versionIn(clone)).toMatchObject({ code: 0, stderr: '' });
  const cache = join(clone, 'node_modules', basename(CACHE));
  expect(readdirSync(join(cache, 'compiled'))).toHaveLength(1);
  expect([modeOf(cache), modeOf(join(cache, 'compiled'))]).toEqual([0o755, 0o755]);
});

it('is not kept where it cannot be, and the command goes on', async () => {
  const clone = cloneOfItsOwn();
  writeFileSync(join(clone, 'node_modules', basename(CACHE)), 'no directory');
  expect(await versionIn(clone)).toMatchObject({ code: 0, stderr: '' });
});

it.runIf(process.getuid?.() === 0)('does not keep another user from a cache of their own', async () => {
  const clone = cloneOfItsOwn();
  for (const path of [clone, join(clone, 'node_modules')]) chownSync(path, NOBODY, NOBODY);
  expect(await versionIn(clone)).toMatchObject({ code: 0, stderr: '' });
  const { version } = process;
  const script =
    'unset NODE_COMPILE_CACHE; exec setpriv --reuid "$1" --regid "$1" --clear-groups "$0" src/cli.js --version';
  const ended = await run('/bin/sh', ['-c', script, process.execPath, String(NOBODY)], { cwd: clone });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(readdirSync(join(clone, 'node_modules', `.cache-${NOBODY}`, 'compiled'))).toEqual([
    expect.stringContaining(version),
  ]);
});

#!/usr/bin/env -S node --max-semi-space-size=8
// Entry point of the command. Checks the version of Node before it loads the rest, since an old Node fails there with
// an unhelpful error. It is JavaScript, as Node would else load its compiler for this one file at each start.
import { existsSync, mkdirSync } from 'node:fs';
// As a whole: an old Node does not have all of its names, and would refuse this file.
import * as module from 'node:module';
import { join } from 'node:path';

const NODE_MAJOR_LEAST = 24;

// A reader that closes the pipe early (`| head`) is no failure.
process.stdout.on('error', (error) => {
  if (!('code' in error) || error.code !== 'EPIPE') throw error;
  process.exit(0);
});

const isClone = existsSync(join(import.meta.dirname, 'cli', 'run.ts'));

if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_LEAST) {
  // Node keeps the JavaScript that it makes of TypeScript: that halves the processor time of a start. The cache is in the
  // clone's own node_modules, since a user who may write there may change the program anyway. Each user has a folder of their
  // own: nobody else may write to it, and it is in nobody's way. The files of a package are JavaScript, and need no cache.
  if (isClone)
    keepCompiled(join(import.meta.dirname, '..', 'node_modules', `.cache-${process.getuid?.()}`, 'compiled'));
  const { run } = await import('./cli/run.ts');
  await run();
} else {
  process.stderr.write(
    `treeline: Node ${NODE_MAJOR_LEAST} or newer is needed, and this is ${process.version} (${process.execPath}).\n` +
      (isClone ? '"npm run -s treeline -- COMMAND" runs on the Node of the packages here.\n' : ''),
  );
  process.exitCode = 3;
}

/** @param {string} directory */
function keepCompiled(directory) {
  try {
    // Node would create it as the umask says, perhaps writable for others, and trusts what it finds there.
    mkdirSync(directory, { recursive: true, mode: 0o755 });
    module.enableCompileCache(directory);
  } catch (error) {
    // It cannot be made: the start takes longer.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

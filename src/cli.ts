#!/usr/bin/env node
// Entry point of the command. Checks the version of Node before it loads the rest, since an old Node fails there with
// an unhelpful error.
const NODE_MAJOR_LEAST = 24;

// A reader that closes the pipe early (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_LEAST) {
  const { run } = await import('./cli/run.ts');
  await run();
} else {
  process.stderr.write(
    `treeline: Node ${NODE_MAJOR_LEAST} or newer is needed, and this is ${process.version} (${process.execPath})\n`,
  );
  process.exitCode = 3;
}

#!/usr/bin/env node
// Where the command starts. Only the version of Node is looked at here: the rest is loaded after that, since an old Node
// fails in it with words that help nobody.
const NODE_MAJOR_LEAST = 24;

// A reader that has seen enough (`| head`) closes the pipe; that is no failure.
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

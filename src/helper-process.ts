// Starts a helper process: a Node process that starts programs for this one. It is kept small, since starting a program
// costs time for each page of memory of the process that starts it. docs/decisions/0064 and 0069.
import { type ChildProcess, type SerializationType, spawn } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

const SMALL = ['--max-semi-space-size=1', '--no-opt', '--no-maglev'];

/**
 * Returns a helper process, with a channel for messages. `program` is its file without the extension: it has that of this
 * file, which a build changes. Throws some failures, and reports others by the event `error`, as Node does.
 */
export function startHelper(program: URL, serialization: SerializationType): ChildProcess {
  const file = `${fileURLToPath(program)}${extname(import.meta.filename)}`;
  // In a session of its own, it outlives the signal of a terminal until this process has ended.
  return spawn(process.execPath, [...SMALL, file], {
    detached: true,
    serialization,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** Lets a helper process keep this one from ending only while it is busy. */
export function holdLoop(helper: ChildProcess, isBusy: boolean): void {
  for (const handle of [helper, helper.channel]) {
    if (isBusy) handle?.ref();
    else handle?.unref();
  }
}

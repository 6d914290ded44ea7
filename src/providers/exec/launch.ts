// Starts a program behind a launcher: the process and its group exist before the program begins, so that they can be
// recorded first. If this process dies in between, the launcher sees its standard input end, and ends.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { reasonOf } from '../../model/quote.ts';
import { MARK_VARIABLE } from './linux-processes.ts';

/** A program, as the settings name it. */
export interface Program {
  /** The path of the program, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** The working directory. */
  readonly directory: string;
  /** The whole environment, except the mark. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A process that waits to become the program. */
export interface Launched {
  /** The id of the process and of its group. */
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Lets the program begin, with that input. */
  release(input: string): void;
  /** Closes this end of all pipes. */
  close(): void;
  /** Resolves with the exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | string>;
}

/** The process could not be started. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
}

const SHELL = '/bin/sh';
/** Variables that shells add by themselves. */
const SHELL_VARIABLES = ['PWD', 'OLDPWD', 'SHLVL'];
/** A shell reads a line that is no file byte by byte: what follows is left to the program. */
const WAIT_AND_BEGIN = 'read -r _ && exec "$@"';
const BEGIN = '\n';

/** Returns a process in a session and group of its own. Throws LaunchError if there is none. The words pass no shell. */
export async function launch({ command, directory, environment }: Program, mark: string): Promise<Launched> {
  const unset = SHELL_VARIABLES.filter((name) => !Object.hasOwn(environment, name)).join(' ');
  const script = unset === '' ? WAIT_AND_BEGIN : `unset ${unset}; ${WAIT_AND_BEGIN}`;
  const child = start(['-c', script, 'treeline-launcher', ...command], {
    cwd: directory,
    env: { ...environment, [MARK_VARIABLE]: mark },
  });
  const exited = exitOf(child);
  const pid = await startedAs(child);
  // A program that ends early breaks its pipes; its exit tells how it ended.
  const streams = [child.stdin, child.stdout, child.stderr];
  for (const stream of streams) stream.on('error', () => stream.destroy());
  return {
    pid,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    release: (input) => child.stdin.end(BEGIN + input),
    close: () => {
      for (const stream of streams) stream.destroy();
    },
  };
}

/** Node throws some failures, such as arguments that are too long, and reports others by an event. */
function start(args: readonly string[], options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
  try {
    return spawn(SHELL, args, { ...options, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  } catch (error) {
    throw notStarted(error);
  }
}

function notStarted(error: unknown): LaunchError {
  return new LaunchError(`the program could not be started: ${reasonOf(error)}`, { cause: error });
}

async function startedAs(child: ChildProcess): Promise<number> {
  if (child.pid !== undefined) return child.pid;
  const { promise, reject } = Promise.withResolvers<never>();
  child.on('error', (error) => reject(notStarted(error)));
  return await promise;
}

function exitOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
    // Node reports a process that never began by this event alone.
    child.on('error', (error) => resolve(error.message));
  });
}

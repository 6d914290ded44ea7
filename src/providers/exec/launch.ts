// Starts a program, which waits for its input: every call reads it to its end before it acts, so the process can be
// recorded first. If this process dies in between, the program finds an input that is empty or cut short, and ends.
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

/** A process that has got no input yet. */
export interface Launched {
  /** The id of the process and of its group. */
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Gives the program its input. */
  feed(input: string): void;
  /** Closes this end of all pipes. */
  close(): void;
  /** Resolves with the exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | string>;
}

/** The program got no input: it could not be started, or not be recorded. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
}

/** No process was made. */
interface NotLaunched {
  readonly pid: undefined;
  /** Resolves with the reason, which Node tells a moment later. */
  readonly error: Promise<LaunchError>;
}

/**
 * Returns a process in a session and group of its own, at once. Where there is none it throws LaunchError, or returns
 * that. The words pass no shell.
 */
export function launch(program: Program, mark: string): Launched | NotLaunched {
  const child = start(program, mark);
  const exited = exitOf(child);
  const { pid } = child;
  if (pid === undefined) return { pid, error: errorOf(child) };
  // A program that ends early breaks its pipes; its exit tells how it ended.
  const streams = [child.stdin, child.stdout, child.stderr];
  for (const stream of streams) stream.on('error', () => stream.destroy());
  return {
    pid,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    feed: (input) => child.stdin.end(input),
    close: () => {
      for (const stream of streams) stream.destroy();
    },
  };
}

/** Node throws some failures, such as arguments that are too long, and reports others by an event. */
function start({ command: [file, ...args], directory, environment }: Program, mark: string) {
  const env = { ...environment, [MARK_VARIABLE]: mark };
  try {
    return spawn(file, args, { cwd: directory, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  } catch (error) {
    throw notStarted(error);
  }
}

function notStarted(error: unknown): LaunchError {
  // The system names the program also where it misses its interpreter.
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
  const advice = isMissing ? '; if the file is there, the program that its first line names (#!) is not' : '';
  return new LaunchError(`the program could not be started: ${reasonOf(error)}${advice}`, { cause: error });
}

function errorOf(child: ChildProcess): Promise<LaunchError> {
  return new Promise((resolve) => child.on('error', (error) => resolve(notStarted(error))));
}

function exitOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
    // Node reports a process that never began by this event alone.
    child.on('error', (error) => resolve(error.message));
  });
}

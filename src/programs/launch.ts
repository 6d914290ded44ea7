// Starts a program, which waits for its input: every call reads it to its end before it acts, so the process can be
// recorded first. If this process dies in between, the program finds an input that is empty or cut short, and ends.
import type { ChildProcess } from 'node:child_process';
import { accessSync, closeSync, constants, existsSync, openSync, readSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { quote, reasonOf } from '../base/wording.ts';
import { MARK_VARIABLE } from './linux-processes.ts';
import { type ProgramStart, spawnProgram } from './spawn-program.ts';

/** So much of a script the system reads to find the program that runs it. */
const HEAD_BYTES = 256;

/** A program, as the settings name it; its environment lacks the mark. */
export interface Program extends ProgramStart {
  readonly directory: string;
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
  if (pid === undefined) return { pid, error: errorOf(child, program.command[0]) };
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
function start(program: Program, mark: string) {
  try {
    return spawnProgram({ ...program, environment: { ...program.environment, [MARK_VARIABLE]: mark } });
  } catch (error) {
    throw notStarted(error, program.command[0]);
  }
}

/** The system names the program also where it misses its interpreter. */
function notStarted(error: unknown, file: string): LaunchError {
  const advice = isExecutable(file) ? firstLineFault(file) : `make it executable: chmod +x ${file}`;
  const words = `the program could not be started: ${reasonOf(error)}${advice === undefined ? '' : `; ${advice}`}`;
  return new LaunchError(words, { cause: error });
}

/** A missing file is not a matter of its mode. */
function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return !existsSync(file);
  }
}

/** Returns what is wrong with the line of a script that names the program which runs it; undefined where nothing is known to be. */
export function firstLineFault(file: string): string | undefined {
  const head = existsSync(file) ? readHead(file) : '';
  if (head === '' || head.startsWith('\x7fELF')) return undefined;
  const line = /^#!([^\n]*)/.exec(head)?.[1]?.trimStart();
  if (line === undefined) return 'its first line has to name the program that runs it, such as "#!/bin/sh"';
  const words = line.split(/[ \t]+/);
  if (line.endsWith('\r')) {
    return `its first line ends in CRLF, so that the system looks for ${quote(words.at(-1) ?? '')}: save it with LF`;
  }
  const [interpreter = ''] = words;
  return existsSync(interpreter) ? undefined : `its first line names ${quote(interpreter)}, which is not there`;
}

/** Returns the beginning of a file; nothing of one that may be executed and not be read. */
function readHead(file: string): string {
  try {
    const descriptor = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(HEAD_BYTES);
      return bytes.toString('utf8', 0, readSync(descriptor, bytes));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return '';
  }
}

function errorOf(child: ChildProcess, file: string): Promise<LaunchError> {
  return new Promise((resolve) => child.on('error', (error) => resolve(notStarted(error, file))));
}

function exitOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
    // Node reports a process that never began by this event alone.
    child.on('error', (error) => resolve(error.message));
  });
}

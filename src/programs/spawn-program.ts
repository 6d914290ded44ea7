// Starts a program in a process group that can be ended as a whole, without a shell. The helper process loads this file
// too, and has to stay small, so it imports nothing but Node.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';

/** A program to start. */
export interface ProgramStart {
  /** The path or the name of the program, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** The working directory; default: that of the process that starts it. */
  readonly directory?: string;
  /** The whole environment. */
  readonly environment: NodeJS.ProcessEnv;
  /** Runs at a lower priority, so that other processes get the processor first. */
  readonly givesWay?: boolean;
}

/** A program that runs, whichever process has started it. Its events are those of a child process. */
export interface RunningProgram {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
  /** Ends the program and all processes of its group. */
  end(ending: NodeJS.Signals): void;
}

/** Starts a program. The caller feeds, reads and ends it. Throws some failures, and reports others as Node does. */
export function spawnProgram({
  command: [file, ...args],
  directory,
  environment,
  givesWay = false,
}: ProgramStart): ChildProcessWithoutNullStreams {
  const child = spawn(file, args, {
    cwd: directory,
    env: environment,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  if (givesWay && child.pid !== undefined) giveWay(child.pid);
  return child;
}

function giveWay(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // It has ended already, or its priority may not be changed: it continues at its current one.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

/** Sends a signal to every process of a group, whose id is that of its first process. Returns false if there is none. */
export function signalGroup(group: number, name: NodeJS.Signals | 0): boolean {
  return signalProcess(-group, name);
}

/** Returns false if there is no such process. One that may not be signalled exists. */
export function signalProcess(target: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, name);
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    return error.code !== 'ESRCH';
  }
}

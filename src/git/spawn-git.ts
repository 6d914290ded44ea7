// Starts git in this process, in a process group that can be ended as a whole. The git starter loads this file too, and has
// to stay small, so it imports nothing but Node.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';

/** The arguments and the environment of a git to start. */
export interface GitStart {
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Runs at a lower priority, so that other processes get the processor first. */
  readonly givesWay: boolean;
}

/** A git that runs, whichever process has started it. Its events are those of a child process. */
export interface RunningGit {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
  /** Ends git and all processes that it started. */
  end(ending: NodeJS.Signals): void;
}

/** Starts git. The caller feeds, reads and ends it. */
export function spawnGit({ args, env, givesWay }: GitStart): ChildProcessWithoutNullStreams {
  const child = spawn('git', args, { env, detached: true });
  if (givesWay) giveWay(child);
  return child;
}

function giveWay({ pid }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // It has ended already, or its priority may not be changed: it continues at its current one.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

/** Ends git and all processes that it started. The id of a process group is that of its first process. */
export function endGroup({ pid }: ChildProcessWithoutNullStreams, ending: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, ending);
  } catch (error) {
    const isGone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!isGone) throw error;
  }
}

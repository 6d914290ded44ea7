// Runs one program: starts it in its own process group, writes its input, and reads its output within limits.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { quote, reasonOf } from '../base/wording.ts';
import type { CallLabels } from './call-records.ts';
import type { CommandLine, Launcher } from './launcher.ts';
import { MARK_VARIABLE, sendSignal } from './linux-processes.ts';

/** A program, as the settings name it. */
export interface Program {
  /** No shell interprets it. */
  readonly command: CommandLine;
  /** The working directory. */
  readonly directory: string;
  /** The whole environment, without the mark. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A program to run, with its input and its limits. */
export interface ProgramOrder extends Program {
  readonly input: string;
  /** The maximum size of its standard output, in bytes. */
  readonly outputBytesMax: number;
  /** Ends the program: SIGTERM, and after `graceMs` SIGKILL. */
  readonly signal: AbortSignal;
  readonly graceMs: number;
  /** Facts for the record of the call, and for the log. */
  readonly about: CallLabels;
}

/** How a program has ended. */
export interface ProgramEnd {
  /** The exit code, or the name of the signal that ended it. */
  readonly exit: number | string;
  readonly output: string;
  /** The end of what it wrote to standard error. */
  readonly complaint: string;
}

/** The program got no input, because it could not be started or recorded. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
}

/** The program wrote more than the limit. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
}

const COMPLAINT_BYTES_MAX = 8 * 1024;
/** How long the output may stay open after the last process of the group has ended. */
const OUTPUT_MS_MAX = 200;
/** A shell reports a signal that ended its child as an exit code above this. */
const SIGNALLED = 128;

/** A program without input. */
export class RunningProgram {
  /** The id of its process group. */
  readonly pid: number;
  /** Resolves with the exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | string>;
  /** Rejects with OutputError as soon as there is too much output; never resolves. */
  readonly overflow: Promise<never>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #hasLeader: boolean;
  readonly #closed: Promise<unknown>;
  readonly #output: Buffer[] = [];
  #complaint = Buffer.alloc(0);

  private constructor(child: ChildProcessWithoutNullStreams, pid: number, { outputBytesMax, hasLeader }: Reading) {
    this.#child = child;
    this.pid = pid;
    this.#hasLeader = hasLeader;
    this.exited = new Promise((resolve) => child.on('exit', (code, signal) => resolve(exitOf(code, signal))));
    this.#closed = new Promise((resolve) => child.on('close', resolve));
    this.overflow = new Promise((_, reject) => this.#readOutput(outputBytesMax, reject));
    // Prevents an unhandled rejection if nothing waits any more.
    this.overflow.catch(() => undefined);
    child.stderr.on('data', (chunk: Buffer) => {
      this.#complaint = Buffer.concat([this.#complaint, chunk]).subarray(-COMPLAINT_BYTES_MAX);
    });
    // A program that ends early breaks its pipes; its exit shows how it ended.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => stream.destroy());
  }

  /**
   * Starts a program. Throws LaunchError if that fails. Call it only in the main thread, because the end of a thread
   * ends its programs.
   */
  static async start(order: ProgramOrder, mark: string, launcher: Launcher | null): Promise<RunningProgram> {
    try {
      const child = spawnIn(order, mark, launcher);
      const reading = { outputBytesMax: order.outputBytesMax, hasLeader: launcher !== null };
      if (child.pid !== undefined) return new RunningProgram(child, child.pid, reading);
      throw await new Promise((resolve) => child.on('error', resolve));
    } catch (error) {
      const { directory } = order;
      const reason = existsSync(directory) ? reasonOf(error) : `there is no directory ${quote(directory)}`;
      throw new LaunchError(`the program could not be started: ${reason}`, { cause: error });
    }
  }

  /** Gives the program its input. */
  feed(input: string): void {
    this.#child.stdin.end(input);
  }

  /** Returns true while its process group exists. */
  get hasGroup(): boolean {
    return sendSignal(-this.pid, 0) !== 'gone';
  }

  /**
   * Sends SIGTERM to the program; the leader forwards it to the group. Resolves once it has ended, at most after `ms`.
   */
  async askToEnd(ms: number): Promise<void> {
    sendSignal(this.#hasLeader ? this.pid : -this.pid, 'SIGTERM');
    await within(this.exited, ms);
  }

  /** Returns what it wrote once its output is closed, or after a short time. `advice` is added to the complaint. */
  async written(advice = ''): Promise<Omit<ProgramEnd, 'exit'>> {
    await Promise.race([within(this.#closed, OUTPUT_MS_MAX), this.overflow]);
    const output = Buffer.concat(this.#output).toString('utf8');
    return { output, complaint: `${this.#complaint.toString('utf8')}${advice}` };
  }

  /** Closes this end of all pipes. */
  close(): void {
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
  }

  #readOutput(bytesMax: number, reject: (error: OutputError) => void): void {
    let bytes = 0;
    this.#child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) this.#output.push(chunk);
      else reject(new OutputError(`the program wrote more than ${bytesMax} bytes`));
    });
  }
}

interface Reading {
  readonly outputBytesMax: number;
  readonly hasLeader: boolean;
}

function spawnIn({ command, directory, environment }: Program, mark: string, launcher: Launcher | null) {
  const env = { ...environment, [MARK_VARIABLE]: mark };
  const [file, ...args] = launcher === null ? command : launcher(command, env);
  return spawn(file, args, { cwd: directory, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
}

function exitOf(code: number | null, signal: NodeJS.Signals | null): number | string {
  if (code === null) return signal ?? 'unknown';
  const named = Object.entries(constants.signals).find(([, number]) => number === code - SIGNALLED);
  return named === undefined ? code : named[0];
}

/** Resolves once a promise is settled, at most after `ms`. */
async function within(settled: Promise<unknown>, ms: number): Promise<void> {
  await Promise.race([settled, wait(ms, undefined, { ref: false })]);
}

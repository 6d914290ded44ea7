// A process that a benchmark starts, and its cost as counted by Linux. Ends only processes that it started, each by its
// handle; none outlives the benchmark.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const CHECK_MS = 20;
const STOP_MS_MAX = 60_000;
/** Linux counts processor time in hundredths of a second on every common machine. */
const TICKS_A_SECOND = 100;

/** The memory and processor time of a process since its start. */
export interface Usage {
  /** The peak memory in bytes. */
  readonly peakBytes: number;
  readonly cpuSeconds: number;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The file to which its standard output is appended. */
  readonly output: string;
  readonly env?: NodeJS.ProcessEnv;
}

const EXIT_INTERRUPTED = 130;

const owned = new Set<ChildProcess>();
let isGuarded = false;

function own(child: ChildProcess): void {
  owned.add(child);
  child.on('exit', () => owned.delete(child));
  guardEnd();
}

/**
 * Makes an interruption end this process in order: its `exit` handlers run, and no owned process outlives it. Only a
 * kill of this process leaves some.
 */
export function guardEnd(): void {
  if (isGuarded) return;
  isGuarded = true;
  // Before the handlers that remove files of these processes.
  process.prependListener('exit', endOwnedProcesses);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(EXIT_INTERRUPTED));
}

/** Kills all running processes, which a failed benchmark has left. */
export function endOwnedProcesses(): void {
  for (const each of owned) each.kill('SIGKILL');
}

export class OwnedProcess {
  readonly #child: ChildProcess;
  readonly #what: string;
  readonly #output: string;
  #usage: Usage = { peakBytes: 0, cpuSeconds: 0 };
  #failure: Error | undefined;

  /** Starts it. Its standard error joins its output. */
  constructor({ file, args, cwd, output, env = process.env }: Command) {
    this.#what = [file, ...args].join(' ');
    this.#output = output;
    const descriptor = openSync(output, 'a');
    this.#child = spawn(file, args, { cwd, env, stdio: ['ignore', descriptor, descriptor] });
    closeSync(descriptor);
    own(this.#child);
    this.#child.on('error', (error) => {
      this.#failure = error;
    });
  }

  /** Its process id. Throws if it could not be started. */
  get pid(): number {
    if (this.#child.pid === undefined) throw this.#failed('could not be started');
    return this.#child.pid;
  }

  get isOver(): boolean {
    return this.#failure !== undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Returns its usage until now; for an ended process, as of the last call. */
  usage(): Usage {
    const { pid } = this.#child;
    if (pid !== undefined && !this.isOver) this.#usage = usageOf(pid) ?? this.#usage;
    return this.#usage;
  }

  /** Resolves with the first answer that is not undefined. Throws if the process ends or the time is over before. */
  async until<Answer>(
    what: string,
    ms: number,
    ask: () => Answer | undefined | Promise<Answer | undefined>,
  ): Promise<Answer> {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      const isOver = this.isOver;
      const answer = await ask();
      if (answer !== undefined) return answer;
      if (isOver) throw this.#failed(`ended before ${what}`);
      this.usage();
      await sleep(CHECK_MS);
    }
    throw this.#failed(`took more than ${ms / 1000} s until ${what}`);
  }

  /** Resolves with its exit code when it has ended; undefined if the time was over and it was killed. */
  async exit(ms: number): Promise<number | undefined> {
    const end = performance.now() + ms;
    while (!this.isOver && performance.now() < end) {
      this.usage();
      await sleep(CHECK_MS);
    }
    if (this.#failure !== undefined) throw this.#failed(this.#failure.message);
    if (!this.isOver) {
      await this.#end('SIGKILL');
      return undefined;
    }
    return this.#child.exitCode ?? -1;
  }

  /** Asks it to stop, and resolves when it has. Kills it and throws if it takes too long. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    if (this.#child.exitCode !== 0) throw this.#failed(`did not stop cleanly (exit code ${this.#child.exitCode})`);
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child.kill(signal);
    const end = performance.now() + STOP_MS_MAX;
    while (!this.isOver) {
      if (performance.now() > end) this.#child.kill('SIGKILL');
      await sleep(CHECK_MS);
    }
  }

  #failed(how: string): Error {
    const last = readFileSync(this.#output, 'utf8').trim().split('\n').slice(-3).join('\n');
    return new Error(`${this.#what} ${how}. Its last words:\n${last}`, { cause: this.#failure });
  }
}

/** Returns the usage of a process; undefined if it is gone. */
function usageOf(pid: number): Usage | undefined {
  try {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    // The second field is the program's name in brackets, which may contain any characters.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    if (peak === undefined) return undefined;
    const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
    const cpuSeconds = (user + system) / TICKS_A_SECOND;
    return { peakBytes: Number(peak) * 1024, cpuSeconds };
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) {
      return undefined;
    }
    throw error;
  }
}

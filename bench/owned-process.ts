// A process that a benchmark starts, and what it costs as Linux counts it. Only processes that were started here are
// ever ended, each by its own handle; none outlives the benchmark.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const CHECK_MS = 20;
const STOP_MS_MAX = 60_000;
/** Linux has counted processor time for programs in hundredths of a second on every common machine. */
const TICKS_A_SECOND = 100;

/** The memory and processor time of a process since its start. */
export interface Usage {
  /** The most memory that it ever had at once, bytes. */
  readonly peakBytes: number;
  readonly cpuSeconds: number;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Where its standard output goes, after what is there already. */
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
 * Makes this process end in order where it is interrupted: its handlers of `exit` run, and no owned process outlives it. Only a
 * kill of this process leaves some behind.
 */
export function guardEnd(): void {
  if (isGuarded) return;
  isGuarded = true;
  // Before the handlers that remove what the processes use.
  process.prependListener('exit', endOwnedProcesses);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(EXIT_INTERRUPTED));
}

/** Ends every process that is still running, at once: those of a benchmark that did not get through. */
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

  /** Its process id. Throws where it could not be started. */
  get pid(): number {
    if (this.#child.pid === undefined) throw this.#failed('could not be started');
    return this.#child.pid;
  }

  get isOver(): boolean {
    return this.#failure !== undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Returns what it has used until now; of one that is over, until it was asked the last time. */
  usage(): Usage {
    const { pid } = this.#child;
    if (pid !== undefined && !this.isOver) this.#usage = usageOf(pid) ?? this.#usage;
    return this.#usage;
  }

  /** Resolves with the first answer that is not undefined. Throws where the process ends or the time is up before. */
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

  /** Resolves with its exit code once it has ended by itself; undefined where the time was up before, and it was ended. */
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

  /** Asks it to stop, and resolves once it has; one that takes too long is killed, and that is an error. */
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

/** Returns what a process uses, or undefined where it is gone. */
function usageOf(pid: number): Usage | undefined {
  try {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    // The second field is the program's name in brackets, and may hold anything.
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

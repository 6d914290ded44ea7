// Records the process group of every running call in a directory, and ends at its opening what an earlier controller
// has left there. Nothing is synced: what a power cut takes from the disk, it takes from the processes too.
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../log.ts';
import { isMap } from '../../model/json.ts';
import { endProcesses } from './end-processes.ts';
import { identityOf, type ProcessIdentity } from './linux-processes.ts';

/** How long a start waits for processes that SIGKILL has to end. */
const LEFTOVER_MS_MAX = 60_000;
/** How long after the end of a call its directory is swept of processes that hid themselves. */
const SWEEP_MS = 1000;
/** At most one part in so many of the time goes into sweeps. */
const SWEEP_SHARE = 20;
const ID_FILE = 'id';

/** Processes of an earlier controller cannot be ended. The message names them. */
export class LeftoverError extends Error {
  override readonly name = 'LeftoverError';
}

/** A running call. */
export interface RunningCall {
  /** The value of the variable that marks its processes. */
  readonly mark: string;
  /** Records the process group. Throws if that fails; then the program must not begin. */
  record(group: number): void;
  /** Forgets the call. Nothing of it may run any more, except processes that have hidden themselves. */
  end(): void;
}

/** The running calls of one controller or proxy, which has the directory for itself. */
export class RunningCalls {
  readonly #directory: string;
  readonly #prefix: string;
  readonly #log: Logger;
  readonly #marks = new Set<string>();
  /** Distinguishes the calls of this start from those of earlier ones. */
  readonly #start = randomUUID().slice(0, 8);
  #count = 0;
  #sweep: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #sweepMs = 0;

  private constructor(directory: string, prefix: string, log: Logger) {
    this.#directory = directory;
    this.#prefix = prefix;
    this.#log = log;
  }

  /**
   * Opens a directory, made if missing, after ending every process that calls of an earlier opening have left. Throws
   * LeftoverError if one cannot be ended. No other process may have the directory open.
   */
  static async open(directory: string, log: Logger): Promise<RunningCalls> {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const prefix = markPrefix(directory);
    const calls = new RunningCalls(directory, prefix, log);
    await calls.#endLeftovers();
    return calls;
  }

  /** Begins a call; `about` is written beside the group for the person who looks. */
  begin(about: Readonly<Record<string, string>>): RunningCall {
    const mark = `${this.#prefix}.${this.#start}.${++this.#count}`;
    this.#marks.add(mark);
    let file: string | undefined;
    return {
      mark,
      record: (group) => {
        file = join(this.#directory, String(group));
        writeFileSync(file, JSON.stringify({ ...about, group, mark, process: identityOf(group) ?? null }), {
          mode: 0o600,
        });
      },
      end: () => {
        if (file !== undefined) rmSync(file, { force: true });
        this.#marks.delete(mark);
        this.#sweepSoon();
      },
    };
  }

  /** Ends what calls that have ended may have left behind. */
  async close(): Promise<void> {
    clearTimeout(this.#sweep);
    await this.#sweeping;
    await this.#sweepNow();
  }

  async #endLeftovers(): Promise<void> {
    const files = readdirSync(this.#directory).filter((name) => name !== ID_FILE);
    const groups = files.flatMap((name) => groupIn(join(this.#directory, name)) ?? []);
    if (groups.length > 0) this.#log.warn({ groups }, 'ending programs that an earlier controller has left');
    const isMarked = (mark: string): boolean => mark.startsWith(`${this.#prefix}.`);
    const ended = await Promise.all(
      [null, ...groups].map(async (group) =>
        (await endProcesses({ group, isMarked: group === null ? isMarked : () => false }, LEFTOVER_MS_MAX))
          ? []
          : [group],
      ),
    );
    const left = ended.flat();
    if (left.length > 0) {
      const names = left.map((group) => (group === null ? 'marked processes' : `process group ${group}`));
      throw new LeftoverError(`programs of an earlier controller still run and cannot be ended: ${names.join(', ')}`);
    }
    for (const name of files) rmSync(join(this.#directory, name), { force: true, recursive: true });
  }

  /**
   * A program that ended well may have left a process that hides in a session of its own and holds no pipe of the call.
   * Looking for it after every call would cost more than the calls, so all calls of a second share one search.
   */
  #sweepSoon(): void {
    if (this.#sweep !== undefined) return;
    // On a machine with many processes a search may take long: it gets a small share of the time.
    const ms = Math.max(SWEEP_MS, this.#sweepMs * SWEEP_SHARE);
    this.#sweep = setTimeout(() => {
      this.#sweep = undefined;
      this.#sweeping = this.#sweepNow();
    }, ms);
    this.#sweep.unref();
  }

  /** Never throws. */
  async #sweepNow(): Promise<void> {
    const begun = performance.now();
    const isOver = (mark: string): boolean => mark.startsWith(`${this.#prefix}.`) && !this.#marks.has(mark);
    try {
      const isDone = await endProcesses({ group: null, isMarked: isOver }, SWEEP_MS);
      if (!isDone) this.#log.warn('a process that a program has left cannot be ended');
    } catch (error) {
      this.#log.error({ err: error }, 'processes that programs have left could not be looked for');
    }
    this.#sweepMs = performance.now() - begun;
  }
}

/** A copy of the directory has another prefix, and so has the directory of another machine at the same path. */
function markPrefix(directory: string): string {
  const file = join(directory, ID_FILE);
  const id = readId(file) ?? randomUUID();
  writeFileSync(file, id, { mode: 0o600 });
  return createHash('sha256')
    .update(`${id} ${realpathSync(directory)}`)
    .digest('hex')
    .slice(0, 16);
}

function readId(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the recorded group if its first process still runs. A torn record is of a program that never began. */
function groupIn(file: string): number | undefined {
  const recorded = recordedProcess(file);
  // No program is the first process of the system, and its number means every process to kill(2).
  if (recorded === undefined || recorded.pid <= 1) return undefined;
  const now = identityOf(recorded.pid);
  return now?.start === recorded.start && now.boot === recorded.boot ? recorded.pid : undefined;
}

function recordedProcess(file: string): ProcessIdentity | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isMap(value) || !isMap(value.process)) return undefined;
    const { pid, start, boot } = value.process;
    if (typeof pid !== 'number' || typeof start !== 'string' || typeof boot !== 'string') return undefined;
    return { pid, start, boot };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof Error && 'code' in error && error.code === 'EISDIR') return undefined;
    throw error;
  }
}

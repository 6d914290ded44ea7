// Records the process group of every running call in a directory, and sweeps up processes that calls have left. What an
// earlier process has left there was ended before; see program-runner.ts.
import { randomUUID } from 'node:crypto';
import { reasonOf } from '../base/wording.ts';
import { CallRecords } from './call-records.ts';
import { endProcesses } from './end-processes.ts';

/** How long after the end of a call its directory is swept of processes that hid themselves. */
const SWEEP_MS = 1000;
/** At most one part in so many of the time goes into sweeps. */
const SWEEP_SHARE = 20;

/** The log of what cannot be ended. */
export interface CallLog {
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
}

/** Where calls are recorded. */
export interface CallDirectory {
  readonly directory: string;
  /** How the marks of its calls begin. */
  readonly prefix: string;
}

/** A running call. */
export interface RunningCall {
  /** The value of the variable that marks its processes. */
  readonly mark: string;
  /** Records the process group. Throws if that fails; then the program must get no input. */
  record(group: number): void;
  /** Forgets the call. Nothing of it may run any more, except processes that have hidden themselves. */
  end(): void;
}

/** The running calls of one process, which has the directory for itself. */
export class RunningCalls {
  readonly #records: CallRecords;
  readonly #prefix: string;
  readonly #log: CallLog;
  readonly #marks = new Set<string>();
  /** Distinguishes the calls of this start from those of earlier ones. */
  readonly #start = randomUUID().slice(0, 8);
  #count = 0;
  #sweep: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #sweepMs = 0;

  constructor({ directory, prefix }: CallDirectory, log: CallLog) {
    this.#records = new CallRecords(directory);
    this.#prefix = prefix;
    this.#log = log;
  }

  /** Begins a call; `about` is written beside the group for the person who looks. */
  begin(about: Readonly<Record<string, string>>): RunningCall {
    const mark = `${this.#prefix}.${this.#start}.${++this.#count}`;
    this.#marks.add(mark);
    let line: number | undefined;
    return {
      mark,
      record: (group) => {
        line = this.#records.write(group, { ...about, mark });
      },
      end: () => {
        if (line !== undefined) this.#records.clear(line);
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
    this.#records.close();
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
      if (!isDone) this.#log.warn({}, 'a process that a program has left cannot be ended');
    } catch (error) {
      this.#log.error({ reason: reasonOf(error) }, 'processes that programs have left could not be looked for');
    }
    this.#sweepMs = performance.now() - begun;
  }
}

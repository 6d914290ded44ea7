// Runs programs in a runner process, which is started with the first one. If that process dies, or was ended because it
// did not answer, what its calls have left is ended before any of them settles.
import { setTimeout as wait } from 'node:timers/promises';
import { reasonOf } from '../../model/quote.ts';
import { LaunchError } from './launch.ts';
import { endLeftovers } from './leftovers.ts';
import { removeRunnerRecord } from './process-records.ts';
import type { ProgramEnd, ProgramOrder } from './run-program.ts';
import { RunnerConnection, type RunnerLimits } from './runner-connection.ts';
import type { CallDirectory, CallLog } from './running-calls.ts';

/** How long the runner process may take to end after it was asked to. */
const CLOSE_MS_MAX = 10_000;
const RETRY_MS = 1000;

/** Runs programs for one controller or proxy, which has the directory for itself. */
export class ProgramRunner {
  /**
   * The directory is a copy, and processes of the one that was copied run: what its rows or claims say of running calls
   * may be true there.
   */
  readonly isCopied: boolean;
  readonly #place: CallDirectory;
  readonly #log: CallLog;
  readonly #limits: RunnerLimits;
  #runner: RunnerConnection | undefined;
  /** Settles once nothing of a runner process that has died runs any more; undefined: nothing has to be waited for. */
  #clearing: Promise<void> | undefined;
  #isClosing = false;

  private constructor(
    { isCopied, ...place }: CallDirectory & Pick<ProgramRunner, 'isCopied'>,
    log: CallLog,
    limits: RunnerLimits,
  ) {
    this.isCopied = isCopied;
    this.#place = place;
    this.#log = log;
    this.#limits = limits;
  }

  /**
   * Opens a directory, made if missing, after ending every process that calls of an earlier opening have left. Throws
   * LeftoverError if one cannot be ended. No other process may have the directory open.
   */
  static async open(directory: string, log: CallLog, limits: RunnerLimits = {}): Promise<ProgramRunner> {
    return new ProgramRunner(await endLeftovers(directory, log), log, limits);
  }

  /** Starts the runner process, so that the first call does not wait for that. Where it fails, the first call tries again. */
  prepare(): void {
    try {
      if (this.#clearing === undefined) this.#runner ??= this.#start();
    } catch (error) {
      this.#log.warn({ reason: reasonOf(error) }, 'the process that runs programs cannot be started');
    }
  }

  /**
   * Returns how the program ended. Throws LaunchError if it got no input, OutputError if it wrote too much, and the
   * signal's reason if that ended it. No process of its group and none with its mark runs any more by then.
   */
  async run(order: ProgramOrder): Promise<ProgramEnd> {
    while (this.#clearing !== undefined) await this.#clearing;
    order.signal.throwIfAborted();
    if (this.#isClosing) throw new LaunchError('the program was not started, since no more are');
    this.#runner ??= this.#start();
    return await this.#runner.run(order);
  }

  /** Ends the runner process. What still runs is left to the next start. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const runner = this.#runner;
    if (runner === undefined) return;
    const settled = new AbortController();
    const late = wait(CLOSE_MS_MAX, undefined, { signal: settled.signal }).catch(() => undefined);
    runner.close();
    await Promise.race([runner.ended, late]);
    settled.abort();
    runner.kill();
    await runner.ended;
  }

  #start(): RunnerConnection {
    const runner = RunnerConnection.start(this.#place, this.#log, this.#limits);
    const cleared = runner.ended.then((how) => this.#clear(runner, how));
    cleared.catch((error) => this.#log.error({ reason: reasonOf(error) }, 'a process that has ended stays recorded'));
    return runner;
  }

  async #clear(runner: RunnerConnection, how: string): Promise<void> {
    this.#runner = undefined;
    if (this.#isClosing) {
      removeRunnerRecord(this.#place.directory);
      return;
    }
    this.#log.error({ how }, 'the process that runs programs has ended; ending what it has left');
    this.#clearing = this.#endLeftovers();
    await this.#clearing;
    this.#clearing = undefined;
    runner.failAll(new Error(`the process that runs programs has ended (${how})`));
  }

  /** Waits without a limit: until these processes have ended, no other call for their servers may begin. */
  async #endLeftovers(): Promise<void> {
    for (;;) {
      try {
        await endLeftovers(this.#place.directory, this.#log);
        return;
      } catch (error) {
        this.#log.error({ reason: reasonOf(error) }, 'programs cannot be ended; their servers wait for that');
        await wait(RETRY_MS);
      }
    }
  }
}

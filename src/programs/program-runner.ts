// Runs the programs of calls in a helper process, which is started with the first one, and records them in a directory. If
// that process dies, or was ended because it did not answer, what its calls have left is ended before any of them settles;
// what an earlier controller or proxy has left, before any begins.
import { mkdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { reasonOf } from '../base/wording.ts';
import { readCallRecords } from './call-records.ts';
import { endProcesses } from './end-processes.ts';
import { HelperClient, type HelperLimits } from './helper-client.ts';
import { LaunchError } from './launch.ts';
import {
  clearRecords,
  markPrefix,
  type RecordedProcess,
  readRunnerRecord,
  removeRunnerRecord,
  runningGroupOf,
  writeRunnerRecord,
} from './process-records.ts';
import type { ProgramEnd, ProgramOrder } from './run-program.ts';
import type { CallDirectory, CallLog } from './running-calls.ts';

/** How long the helper process may take to end after it was asked to. */
const CLOSE_MS_MAX = 10_000;
const RETRY_MS = 1000;
/** How long a start waits for processes that SIGKILL has to end. */
const LEFTOVER_MS_MAX = 60_000;

/** Runs programs for one controller or proxy, which has the directory for itself. */
export class ProgramRunner {
  /**
   * The directory is a copy, and processes of the one that was copied run: what its rows or claims say of running calls
   * may be true there.
   */
  readonly isCopied: boolean;
  readonly #place: CallDirectory;
  readonly #log: CallLog;
  readonly #limits: HelperLimits;
  #helper: HelperClient | undefined;
  /** Settles once nothing of a helper process that has died runs any more; undefined: nothing has to be waited for. */
  #clearing: Promise<void> | undefined;
  #isClosing = false;

  private constructor(
    { isCopied, ...place }: CallDirectory & Pick<ProgramRunner, 'isCopied'>,
    log: CallLog,
    limits: HelperLimits,
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
  static async open(directory: string, log: CallLog, limits: HelperLimits = {}): Promise<ProgramRunner> {
    return new ProgramRunner(await endLeftovers(directory, log), log, limits);
  }

  /** Starts the helper process, so that the first call does not wait for that. Where it fails, the first call tries again. */
  prepare(): void {
    try {
      if (this.#clearing === undefined) this.#helper ??= this.#start();
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
    this.#helper ??= this.#start();
    return await this.#helper.call(order);
  }

  /** Ends the helper process. What still runs is left to the next start. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const helper = this.#helper;
    if (helper === undefined) return;
    const settled = new AbortController();
    const late = wait(CLOSE_MS_MAX, undefined, { signal: settled.signal }).catch(() => undefined);
    helper.close();
    await Promise.race([helper.ended, late]);
    settled.abort();
    helper.kill();
    await helper.ended;
  }

  /** Starts a helper process, and records it before it does anything. Throws LaunchError if that fails. */
  #start(): HelperClient {
    const helper = this.#startRecorded();
    const cleared = helper.ended.then((how) => this.#clear(helper, how));
    cleared.catch((error) => this.#log.error({ reason: reasonOf(error) }, 'a process that has ended stays recorded'));
    helper.open(this.#place);
    return helper;
  }

  #startRecorded(): HelperClient {
    let helper: HelperClient | undefined;
    try {
      helper = new HelperClient(this.#log, this.#limits);
      if (helper.pid === undefined) throw new Error('no process was made');
      writeRunnerRecord(this.#place.directory, helper.pid);
      return helper;
    } catch (error) {
      helper?.kill();
      const message = `the program was not started, since the process that runs programs was not: ${reasonOf(error)}`;
      throw new LaunchError(message, { cause: error });
    }
  }

  async #clear(helper: HelperClient, how: string): Promise<void> {
    this.#helper = undefined;
    if (this.#isClosing) {
      removeRunnerRecord(this.#place.directory);
      return;
    }
    this.#log.error({ how }, 'the process that runs programs has ended; ending what it has left');
    this.#clearing = this.#endLeftovers();
    await this.#clearing;
    this.#clearing = undefined;
    helper.failCalls(new Error(`the process that runs programs has ended (${how})`));
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

/** A directory of calls after a start: of no earlier call of it anything runs. */
interface ClearedDirectory extends CallDirectory {
  /** It is a copy, and processes of the directory that was copied run. */
  readonly isCopied: boolean;
}

/** Processes of an earlier controller cannot be ended. The message names them. */
export class LeftoverError extends Error {
  override readonly name = 'LeftoverError';
}

/**
 * Ends every process that the calls recorded in a directory have left, removes the records, and returns how the marks of
 * its calls begin. The directory is made if missing. Throws LeftoverError if a process cannot be ended. No other process
 * may use the directory. Where it is a copy, the processes of the copied directory are those of another controller: they
 * go on.
 */
export async function endLeftovers(directory: string, log: CallLog): Promise<ClearedDirectory> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const prefix = markPrefix(directory);
  // First the process that starts programs: it may still be starting one.
  const helper = runningIn([readRunnerRecord(directory)]);
  await endAll(helper.own, () => false);
  const { own: groups, foreign } = runningIn(readCallRecords(directory));
  if (groups.length > 0) log.warn({ groups }, 'ending programs that an earlier controller has left');
  await endAll([null, ...groups], (mark) => mark.startsWith(`${prefix}.`));
  clearRecords(directory);
  const isCopied = helper.foreign.length + foreign.length > 0;
  if (isCopied)
    log.warn({}, 'the directory is a copy, and programs of the one that was copied run: they are left alone');
  return { directory, prefix, isCopied };
}

/** Returns the groups of the recorded processes that run: of this directory, and of one that it is a copy of. */
function runningIn(recorded: readonly (RecordedProcess | undefined)[]): Record<'own' | 'foreign', number[]> {
  const groups = { own: [] as number[], foreign: [] as number[] };
  for (const process of recorded) {
    const group = process && runningGroupOf(process);
    if (group !== undefined) groups[process?.isForeign ? 'foreign' : 'own'].push(group);
  }
  return groups;
}

/** Ends process groups; null: the marked processes. */
async function endAll(groups: readonly (number | null)[], isMarked: (mark: string) => boolean): Promise<void> {
  const ended = await Promise.all(
    groups.map(async (group) => {
      const processes = { group, isMarked: group === null ? isMarked : () => false };
      return (await endProcesses(processes, LEFTOVER_MS_MAX)) ? [] : [group];
    }),
  );
  const left = ended.flat();
  if (left.length === 0) return;
  const names = left.map((group) => (group === null ? 'marked processes' : `process group ${group}`));
  throw new LeftoverError(`programs of an earlier controller still run and cannot be ended: ${names.join(', ')}`);
}

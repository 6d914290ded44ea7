// Runs the programs of calls from this process, and records them in a directory. Ends processes that an earlier
// controller or proxy has left before it starts a program. ARCHITECTURE.md, "Programs".
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../base/log.ts';
import type { LostActionEnds } from '../model/rows.ts';
import { type CallLabels, type CallRecord, CallRecords } from './call-records.ts';
import { findLauncher, type Launcher, startAdvice } from './launcher.ts';
import { identityOf, type ListedProcess, listProcesses, type ProcessIdentity, sendSignal } from './linux-processes.ts';
import { LaunchError, type ProgramEnd, type ProgramOrder, RunningProgram } from './run-program.ts';

type RunnerLog = Pick<Logger, 'warn' | 'error'>;

/** A program that cannot be ended, because it runs as another user. */
export interface UnendedProgram extends ProcessIdentity {
  readonly about: CallLabels;
  /** When this was noticed, in milliseconds since 1970. */
  readonly since: number;
}

/** How long a start waits for processes that were sent SIGKILL. */
const LEFTOVER_MS_MAX = 60_000;
/** After this time without success, the log says that processes do not end. */
const ENDING_MS = 30_000;
/** The most that are listed; all are logged. */
const UNENDED_MAX = 100;
const WITHOUT_LEADER =
  'setpriv of util-linux, env of coreutils, sh or /proc is missing: if this process is killed, its programs run on, and a ' +
  'lost action counts as running until its deadline and graceSeconds';

/** Processes of an earlier controller cannot be ended. The message names them. */
export class LeftoverError extends Error {
  override readonly name = 'LeftoverError';
}

/** Processes of a call still run, because this user may not signal them. */
export class UnendedError extends Error {
  override readonly name = 'UnendedError';
}

/** Runs programs for one controller or proxy. The directory must not be shared. */
export class ProgramRunner {
  /** When actions with a lost outcome end. */
  readonly lostActionEnds: LostActionEnds;
  /**
   * By server: the last call of which certainly nothing runs any more. The caller removes it once it has the answer.
   */
  readonly ended = new Map<string, CallLabels>();
  readonly #records: CallRecords;
  readonly #log: RunnerLog;
  readonly #launcher: Launcher | null;
  /** Distinguishes the marks of this start from those of others. */
  readonly #start = randomUUID();
  #count = 0;
  #unended: readonly UnendedProgram[] = [];

  private constructor(directory: string, log: RunnerLog, launcher: Launcher | null) {
    this.#records = new CallRecords(directory);
    this.#log = log;
    this.#launcher = launcher;
    this.lostActionEnds = launcher === null ? 'after its deadline' : 'with its call';
    if (launcher === null) log.warn({}, WITHOUT_LEADER);
  }

  /**
   * Opens a directory, creating it if missing, and ends every process of recorded calls. Throws LeftoverError if one
   * does not end. No other process may have the directory open.
   */
  static async open(directory: string, log: RunnerLog, launcher = findLauncher()): Promise<ProgramRunner> {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const runner = new ProgramRunner(directory, log, launcher);
    await runner.#endLeftovers();
    return runner;
  }

  /** Returns the programs that still run after their call. */
  unended(): readonly UnendedProgram[] {
    this.#unended = this.#unended.filter(({ pid, start }) => identityOf(pid)?.start === start);
    return this.#unended;
  }

  /**
   * Returns how the program ended. Throws LaunchError if it got no input, OutputError if it wrote too much, and the
   * signal's reason if the signal ended it. Then its process group has ended, and after a forced end also all processes
   * with its mark. Otherwise throws UnendedError, and {@link unended} returns the processes.
   */
  async run(order: ProgramOrder): Promise<ProgramEnd> {
    const { about, signal } = order;
    signal.throwIfAborted();
    // A program that begins after its deadline could run concurrently with the next action for that server.
    if (Date.parse(about.deadline ?? '') <= Date.now()) {
      throw new LaunchError('the program was not started: its deadline had passed');
    }
    const mark = `${this.#start}.${++this.#count}`;
    const program = await RunningProgram.start(order, mark, this.#launcher);
    const group = { group: program.pid, isOwn: true, mark: undefined };
    try {
      this.#record(program.pid, { about, mark });
      const exit = await this.#attend(program, order);
      // The answer is complete, so processes that outlive the program are ended.
      if (program.hasGroup) await this.#end(group, about);
      else this.#noteEnded(about);
      const written = await program.written(startAdvice(order.command, exit));
      this.#records.remove({ about, mark });
      return { exit, ...written };
    } catch (error) {
      if (error instanceof UnendedError) throw error;
      if (signal.aborted) await program.askToEnd(order.graceMs);
      await this.#end({ ...group, mark }, about);
      throw error;
    } finally {
      program.close();
    }
  }

  #record(pid: number, call: Omit<CallRecord, 'leader'>): void {
    try {
      this.#records.write(pid, call);
    } catch (error) {
      throw new LaunchError('the program got no input, since its process could not be recorded', { cause: error });
    }
  }

  async #attend(program: RunningProgram, { input, signal }: ProgramOrder): Promise<ProgramEnd['exit']> {
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      signal.throwIfAborted();
      program.feed(input);
      return await Promise.race([program.exited, program.overflow, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /**
   * Waits without a limit for processes that were sent SIGKILL, because no other call for their server may begin before
   * they have ended.
   */
  async #end(call: CallProcesses, about: CallLabels): Promise<void> {
    for (;;) {
      const { ending, refused } = await endProcesses(call, ENDING_MS);
      if (ending.length === 0 && refused.length === 0) return this.#noteEnded(about);
      if (ending.length === 0) throw this.#noteRefused(refused, about);
      this.#log.error({ ...about, processes: ending }, 'a program does not end; its server waits for that');
    }
  }

  #noteEnded(about: CallLabels): void {
    const { server, operation } = about;
    if (server !== undefined && operation !== 'check') this.ended.set(server, about);
  }

  #noteRefused(pids: readonly number[], about: CallLabels): UnendedError {
    const error = new UnendedError(`process ${pids.join(', ')} cannot be ended, since it runs as another user`);
    this.#log.error({ ...about, processes: pids }, `${error.message}; its server waits for the deadline of the call`);
    if (about.server !== undefined) this.ended.delete(about.server);
    const added = pids.flatMap((pid) => identityOf(pid) ?? []).map((each) => ({ ...each, about, since: Date.now() }));
    this.#unended = [...this.unended(), ...added].slice(-UNENDED_MAX);
    return error;
  }

  async #endLeftovers(): Promise<void> {
    const calls = this.#records
      .read()
      .map(({ about, leader, mark }) => ({ about, processes: processesOf(leader, mark) }));
    if (calls.length === 0) return;
    const running = await listProcesses();
    const left = calls.filter(({ processes }) => running.some((each) => belongsTo(processes, each)));
    const servers = left.map(({ about }) => about.server ?? '');
    if (left.length > 0) this.#log.warn({ servers }, 'ending programs that an earlier process has left');
    const stuck = await Promise.all(calls.map((call) => this.#endLeftover(call)));
    if (stuck.flat().length === 0) return;
    throw new LeftoverError(`programs of an earlier process do not end: process ${stuck.flat().join(', ')}`);
  }

  async #endLeftover({
    about,
    processes,
  }: {
    about: CallLabels;
    processes: CallProcesses;
  }): Promise<readonly number[]> {
    const { ending, refused } = await endProcesses(processes, LEFTOVER_MS_MAX);
    if (refused.length > 0) this.#noteRefused(refused, about);
    else this.#noteEnded(about);
    return ending;
  }
}

/** The first process of the system leads no call: to kill(2), its id as a group means every process. */
function processesOf(leader: ProcessIdentity | null, mark: string): CallProcesses {
  const group = leader === null || leader.pid <= 1 ? -1 : leader.pid;
  return { group, isOwn: group > 0 && identityOf(group)?.start === leader?.start, mark };
}

/** The processes of one call. */
interface CallProcesses {
  /** The id of the process group. */
  readonly group: number;
  /** False if the leader has ended, so that the id may belong to another group now. */
  readonly isOwn: boolean;
  /** Undefined: only the group is ended. */
  readonly mark: string | undefined;
}

/** The processes of a call that still run. */
interface Survivors {
  /** Were sent SIGKILL and have not ended; for example, the kernel waits for a broken disk. */
  readonly ending: readonly number[];
  /** Run as another user, so that this user may not signal them. */
  readonly refused: readonly number[];
}

const FIRST_WAIT_MS = 10;
const WAIT_MS_MAX = 500;

/** Sends SIGKILL until none of the processes runs except those that may not be signalled; at most for `ms`. */
async function endProcesses(call: CallProcesses, ms: number): Promise<Survivors> {
  const end = performance.now() + ms;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
    if (call.isOwn) sendSignal(-call.group, 'SIGKILL');
    const found = (await listProcesses()).filter((each) => belongsTo(call, each)).map(({ pid }) => pid);
    const refused = found.filter((pid) => sendSignal(pid, 'SIGKILL') === 'refused');
    const ending = found.filter((pid) => !refused.includes(pid));
    if (ending.length === 0 || performance.now() > end) return { ending, refused };
    await wait(waitMs);
  }
}

/** Returns true if a process belongs to a call. The mark of other users' processes cannot be read. */
function belongsTo(call: CallProcesses, { pid, group, mark }: ListedProcess): boolean {
  if (call.mark !== undefined && call.mark === mark) return true;
  return group === call.group && (call.isOwn || sendSignal(pid, 0) === 'refused');
}

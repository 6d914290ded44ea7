// The connection to a runner process: sends it the programs to run, and gives each its answer.
import type { ChildProcess } from 'node:child_process';
import { holdLoop, startHelper } from '../../helper-process.ts';
import { reasonOf } from '../../model/quote.ts';
import { Heartbeat } from './heartbeat.ts';
import { LaunchError } from './launch.ts';
import { writeRunnerRecord } from './process-records.ts';
import type { ProgramEnd, ProgramOrder } from './run-program.ts';
import { makeError, type RunnerOrder, type RunnerReport } from './runner-messages.ts';
import type { CallDirectory, CallLog } from './running-calls.ts';

const PROGRAM = new URL('./runner-process', import.meta.url);

/** How a runner process is watched. */
export interface RunnerLimits {
  /** Time between two questions whether it still answers; default: 5 s. It is ended after 12 without an answer. */
  readonly beatMs?: number;
}

interface Pending extends PromiseWithResolvers<ProgramEnd> {
  readonly signal: AbortSignal;
  readonly abort: () => void;
}

/** A runner process. */
export class RunnerConnection {
  /** Resolves once the process has ended, with its exit code or the name of its signal. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #log: CallLog;
  readonly #pending = new Map<number, Pending>();
  readonly #heartbeat: Heartbeat;
  #count = 0;

  private constructor(child: ChildProcess, log: CallLog, { beatMs }: RunnerLimits) {
    this.#child = child;
    this.#log = log;
    const ask = (): void => this.#send({ kind: 'beat' });
    this.#heartbeat = new Heartbeat({ ask, beatMs, onSilence: () => this.#endSilent() });
    this.ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(String(code ?? signal))));
    child.on('exit', () => this.#heartbeat.stop());
    child.on('message', (report: RunnerReport) => this.#take(report));
    // It cannot be talked to any more, so it must not run on.
    child.on('disconnect', () => this.kill());
    child.on('error', () => this.kill());
    this.#holdLoop();
  }

  /** Starts a runner process, and records it before it does anything. Throws LaunchError if that fails. */
  static start(place: CallDirectory, log: CallLog, limits: RunnerLimits): RunnerConnection {
    const child = startChild();
    const connection = new RunnerConnection(child, log, limits);
    try {
      if (child.pid === undefined) throw new Error('no process was made');
      writeRunnerRecord(place.directory, child.pid);
    } catch (error) {
      connection.kill();
      throw notStarted(error);
    }
    connection.#send({ kind: 'open', place });
    return connection;
  }

  /** Returns how a program ended; throws like the runner of programs. Never settles if the process ends before. */
  run({ signal, ...order }: ProgramOrder): Promise<ProgramEnd> {
    const call = ++this.#count;
    const abort = (): void => this.#send({ kind: 'end', call });
    const pending = { ...Promise.withResolvers<ProgramEnd>(), signal, abort };
    this.#pending.set(call, pending);
    this.#heartbeat.start();
    this.#holdLoop();
    signal.addEventListener('abort', abort, { once: true });
    this.#send({ kind: 'run', call, order });
    return pending.promise;
  }

  /** Rejects all calls that have no answer: with the signal's reason where that has ended them. */
  failAll(error: Error): void {
    for (const call of [...this.#pending.keys()]) {
      const pending = this.#settle(call);
      pending?.reject(pending.signal.aborted ? pending.signal.reason : error);
    }
  }

  /** Asks the process to end. */
  close(): void {
    this.#child.ref();
    this.#send({ kind: 'close' });
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** It may be stopped, or wait for a broken disk: no call of it would end, not even at its deadline. */
  #endSilent(): void {
    this.#log.error({}, 'the process that runs programs does not answer; ending it');
    this.kill();
  }

  #take(report: RunnerReport): void {
    this.#heartbeat.heard();
    if (report.kind === 'beat') return;
    if (report.kind === 'log') {
      this.#log[report.level](report.facts, report.text);
      return;
    }
    const pending = this.#settle(report.call);
    if (report.kind === 'ended') pending?.resolve(report.end);
    else pending?.reject(pending.signal.aborted ? pending.signal.reason : makeError(report));
  }

  #settle(call: number): Pending | undefined {
    const pending = this.#pending.get(call);
    pending?.signal.removeEventListener('abort', pending.abort);
    this.#pending.delete(call);
    if (this.#pending.size === 0) this.#heartbeat.stop();
    this.#holdLoop();
    return pending;
  }

  /** Only a busy runner keeps this process from ending. */
  #holdLoop(): void {
    holdLoop(this.#child, this.#pending.size > 0);
  }

  #send(order: RunnerOrder): void {
    if (!this.#child.connected) return;
    this.#child.send(order, (error) => error !== null && this.kill());
  }
}

/** Node throws some failures, and reports others by an event. */
function startChild(): ChildProcess {
  try {
    return startHelper(PROGRAM, 'json');
  } catch (error) {
    throw notStarted(error);
  }
}

function notStarted(error: unknown): LaunchError {
  const reason = reasonOf(error);
  return new LaunchError(`the program was not started, since the process that runs programs was not: ${reason}`, {
    cause: error,
  });
}

// A helper process, as the process that has started it knows it: a small Node process that starts programs. Node copies the
// page tables of the whole process to start a program, and its event loop stands still meanwhile. docs/decisions/0023.
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { extname } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type HelperOrder, type HelperReport, makeError, type OutputName, type RunReport } from './helper-messages.ts';
import type { ProgramEnd, ProgramOrder } from './run-program.ts';
import type { CallDirectory, CallLog } from './running-calls.ts';
import type { ProgramStart, RunningProgram } from './spawn-program.ts';

/** Without the extension: it has that of this file, which a build changes. */
const PROGRAM = new URL('./helper-process', import.meta.url);
const SMALL = ['--max-semi-space-size=1', '--no-opt', '--no-maglev'];
/** Time between two questions whether it still answers. */
const BEAT_MS = 5000;
/** A minute: a process on a machine that swaps answers late, and to end it loses all of its calls. */
const MISSED_MAX = 12;
const SILENT: CallLog = { warn: () => undefined, error: () => undefined };

/** How a helper process is watched. */
export interface HelperLimits {
  /** Time between two questions whether it still answers; default: 5 s. It is ended after 12 without an answer. */
  readonly beatMs?: number;
}

/** A program that the helper process attends. */
interface Attended {
  receive(report: RunReport): void;
  /** The helper process cannot be talked to any more. Returns false if the program has to be waited for nevertheless. */
  lose(): boolean;
}

/** A helper process. It keeps this process from ending only while a program runs. */
export class HelperClient {
  /** Resolves once the process has ended, with its exit code or the name of its signal. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #log: CallLog;
  readonly #limits: HelperLimits;
  readonly #attended = new Map<number, Attended>();
  #count = 0;
  #isLost = false;
  #beats: NodeJS.Timeout | undefined;
  /**
   * Questions without an answer. They are counted, and no clock is read: a process that was itself stopped, or busy, for
   * long finds the answers that came meanwhile before its next question.
   */
  #missed = 0;

  /** Starts the process. Throws some failures; where others occur, every program fails. */
  constructor(log: CallLog = SILENT, limits: HelperLimits = {}) {
    this.#log = log;
    this.#limits = limits;
    this.#child = startChild();
    this.ended = new Promise((resolve) => this.#child.on('exit', (code, signal) => resolve(String(code ?? signal))));
    this.#child.on('message', (report: HelperReport) => this.#receive(report));
    for (const event of ['disconnect', 'error']) this.#child.on(event, () => this.kill());
    this.#holdLoop();
  }

  /** False once it cannot be talked to, also where its end is known before that of its channel. */
  get isConnected(): boolean {
    return !this.#isLost && this.#child.connected;
  }

  /** Id of the process. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Names the directory in which calls are recorded, before the first of them. */
  open(place: CallDirectory): void {
    this.#send({ kind: 'open', place });
  }

  /** Starts a program whose streams are passed on. It counts as killed where this process cannot be talked to. */
  start(program: ProgramStart): RunningProgram {
    const run = ++this.#count;
    const relayed = new RelayedProgram(run, (order) => this.#send(order));
    this.#attend(run, relayed, { kind: 'start', run, program });
    return relayed;
  }

  /** Runs a program for a call; returns and throws what {@link runProgram} does. Settles after the end of this process only by {@link failCalls}. */
  call({ signal, ...order }: ProgramOrder): Promise<ProgramEnd> {
    const run = ++this.#count;
    const pending = new PendingCall(signal, () => this.#send({ kind: 'end', run, ending: 'SIGTERM' }));
    this.#attend(run, pending, { kind: 'call', run, order });
    return pending.end;
  }

  /** Rejects all calls that have no answer: with the signal's reason where that has ended them. */
  failCalls(error: Error): void {
    const calls = [...this.#attended].filter(
      (entry): entry is [number, PendingCall] => entry[1] instanceof PendingCall,
    );
    for (const [run] of calls) this.#attended.delete(run);
    this.#watch();
    for (const [, call] of calls) call.fail(error);
  }

  /** Asks the process to end. */
  close(): void {
    this.#child.ref();
    this.#send({ kind: 'close' });
  }

  /** Ends it: what cannot be talked to must not run on. Programs whose streams it passes on lose them, and end. */
  kill(): void {
    this.#isLost = true;
    this.#child.kill('SIGKILL');
    const lost = [...this.#attended].filter(([, each]) => each.lose());
    for (const [run] of lost) this.#attended.delete(run);
    this.#watch();
  }

  #attend(run: number, attended: Attended, order: HelperOrder): void {
    this.#attended.set(run, attended);
    this.#watch();
    this.#send(order);
  }

  #receive(report: HelperReport): void {
    this.#missed = 0;
    if (report.kind === 'beat') return;
    if (report.kind === 'log') {
      this.#log[report.level](report.facts, report.text);
      return;
    }
    const attended = this.#attended.get(report.run);
    if (report.kind === 'ended' || report.kind === 'closed' || report.kind === 'failed') {
      this.#attended.delete(report.run);
      this.#watch();
    }
    attended?.receive(report);
  }

  /** Asks whether it answers while programs run, and then only. */
  #watch(): void {
    this.#holdLoop();
    if (this.#attended.size === 0 || this.#isLost) {
      clearInterval(this.#beats);
      this.#beats = undefined;
    } else if (this.#beats === undefined) {
      this.#missed = 0;
      this.#beats = setInterval(() => this.#beat(), this.#limits.beatMs ?? BEAT_MS);
      this.#beats.unref();
    }
  }

  /** It may be stopped, or wait for a broken disk: no call of it would end, not even at its deadline. */
  #beat(): void {
    if (this.#missed < MISSED_MAX) {
      this.#missed += 1;
      this.#send({ kind: 'beat' });
      return;
    }
    this.#log.error({}, 'the process that runs programs does not answer; ending it');
    this.kill();
  }

  #holdLoop(): void {
    for (const handle of [this.#child, this.#child.channel]) {
      if (this.#attended.size > 0) handle?.ref();
      else handle?.unref();
    }
  }

  #send(order: HelperOrder): void {
    if (this.isConnected) this.#child.send(order, (error) => error !== null && this.kill());
    else process.nextTick(() => this.kill());
  }
}

/** Node throws some failures, and reports others by the event `error`. */
function startChild(): ChildProcess {
  const file = `${fileURLToPath(PROGRAM)}${extname(import.meta.filename)}`;
  // In a session of its own, it outlives the signal of a terminal until this process has ended.
  return spawn(process.execPath, [...SMALL, file], {
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** A program that runs for a call. Where the helper process has ended, something of it may still run. */
class PendingCall implements Attended {
  readonly #settled = Promise.withResolvers<ProgramEnd>();
  readonly #signal: AbortSignal;
  readonly #abort: () => void;

  constructor(signal: AbortSignal, abort: () => void) {
    this.#signal = signal;
    this.#abort = abort;
    signal.addEventListener('abort', abort, { once: true });
  }

  get end(): Promise<ProgramEnd> {
    return this.#settled.promise;
  }

  receive(report: RunReport): void {
    this.#signal.removeEventListener('abort', this.#abort);
    if (report.kind === 'ended') this.#settled.resolve(report.end);
    else if (report.kind === 'failed') this.fail(makeError(report));
  }

  fail(error: Error): void {
    this.#signal.removeEventListener('abort', this.#abort);
    this.#settled.reject(this.#signal.aborted ? this.#signal.reason : error);
  }

  lose(): boolean {
    return false;
  }
}

/** A program whose streams are passed on. They ask for the next piece when their reader does. */
class RelayedProgram extends EventEmitter implements RunningProgram, Attended {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly #run: number;
  readonly #send: (order: HelperOrder) => void;
  #confirm: (() => void) | undefined;

  constructor(run: number, send: (order: HelperOrder) => void) {
    super();
    this.#run = run;
    this.#send = send;
    const pass = (piece: Buffer, done: () => void): void => {
      this.#confirm = done;
      send({ kind: 'input', run, piece });
    };
    this.stdin = new Writable({
      write: (piece: Buffer, _encoding, done) => pass(piece, done),
      // What came while the piece before was on its way: as one message, since each waits for an answer.
      writev: (pieces, done) => pass(Buffer.concat(pieces.map(({ chunk }) => chunk)), done),
      final: (done) => {
        send({ kind: 'input ends', run });
        done();
      },
    });
    this.stdout = this.#readableFor('stdout');
    this.stderr = this.#readableFor('stderr');
  }

  end(ending: NodeJS.Signals): void {
    this.#send({ kind: 'end', run: this.#run, ending });
  }

  receive(report: RunReport): void {
    if (report.kind === 'taken') this.#confirmInput();
    else if (report.kind === 'input closed') this.#closeInput();
    else if (report.kind === 'output') this[report.output].push(report.piece);
    else if (report.kind === 'failed') this.#fail(makeError(report));
    else if (report.kind === 'closed') this.#close(report.code, report.signal);
  }

  lose(): boolean {
    this.#close(null, 'SIGKILL');
    return true;
  }

  #readableFor(output: OutputName): Readable {
    return new Readable({ read: () => this.#send({ kind: 'more', run: this.#run, output }) });
  }

  #confirmInput(): void {
    const confirm = this.#confirm;
    this.#confirm = undefined;
    confirm?.();
  }

  #closeInput(): void {
    this.#confirmInput();
    this.stdin.destroy();
  }

  #fail(error: Error): void {
    this.#closeInput();
    for (const output of [this.stdout, this.stderr]) output.push(null);
    this.emit('error', error);
  }

  /** Like that of a child process, the event comes once both outputs are read or destroyed. */
  #close(code: number | null, signal: NodeJS.Signals | null): void {
    this.#closeInput();
    let open = 0;
    const closed = (): void => {
      open -= 1;
      if (open === 0) this.emit('close', code, signal);
    };
    for (const output of [this.stdout, this.stderr]) {
      open += 1;
      if (!output.readableEnded && !output.destroyed) output.push(null);
      if (output.closed) process.nextTick(closed);
      else output.once('close', closed);
    }
  }
}

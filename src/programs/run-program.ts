// Runs a program for one call: feeds its input, reads its output within limits, and settles only once nothing of it runs.
import type { Readable } from 'node:stream';
import type { ClockTimes } from '../base/clock.ts';
import { endProcesses, isGroupGone, untilGroupGone } from './end-processes.ts';
import { firstLineFault, LaunchError, type Launched, launch, type Program } from './launch.ts';
import type { CallLog, RunningCall, RunningCalls } from './running-calls.ts';
import { signalGroup } from './spawn-program.ts';

/** A program to run, with its input and its limits. */
export interface ProgramOrder extends Program {
  readonly input: string;
  /** The maximum size of its standard output, in bytes. */
  readonly outputBytesMax: number;
  /** Ends the program: SIGTERM, and after `graceMs` SIGKILL. */
  readonly signal: AbortSignal;
  readonly graceMs: number;
  /**
   * From when on it gets no input; it is ended a second later. The monotonic time is that of the machine, and the process that runs the
   * program compares: who asks may be stopped, and then gives no signal, or the machine sleeps while the order is on its way. Omitted: it
   * may run until the signal.
   */
  readonly deadline?: ClockTimes;
  /** Facts for the record of the call, and for the log. */
  readonly about: Readonly<Record<string, string>>;
}

/** Where calls are recorded and logged. */
export interface CallPlace {
  readonly calls: RunningCalls;
  readonly log: CallLog;
}

/** How a program has ended. */
export interface ProgramEnd {
  /** The exit code, or the name of the signal that ended it. */
  readonly exit: number | string;
  readonly output: string;
  /** The end of what it wrote to standard error. */
  readonly complaint: string;
}

const COMPLAINT_BYTES_MAX = 8 * 1024;
/** The exit code of a shell, and of `env`, for a command that is not found. */
const NOT_FOUND = 127;
/** How long the output may stay open after the last process of the group has ended. */
const OUTPUT_MS_MAX = 200;
/** After this time without success, the log says that processes do not end. */
const ENDING_MS = 30_000;

/** The program wrote more than is read. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
}

/** The output of a program, while it is read. */
interface ProgramOutput {
  /** Resolves once the stream has ended or was closed. */
  readonly ended: Promise<void>;
  /** Rejects with OutputError as soon as there is too much output; never resolves. */
  readonly overflow: Promise<never>;
  /** Returns what was read until now. */
  text(): string;
}

interface Outputs {
  readonly output: ProgramOutput;
  readonly complaint: Omit<ProgramOutput, 'overflow'>;
}

interface Started {
  readonly order: ProgramOrder;
  readonly log: CallLog;
  readonly call: RunningCall;
  readonly program: Launched;
}

/** Returns the moment of a time by the clock on the wall. */
export function momentAt(wall: number): ClockTimes {
  return { wall, monotonic: machineMs() + wall - Date.now() };
}

/** Returns for how many milliseconds a moment is still to come, by the clock that has less left. */
export function msUntil({ wall, monotonic }: ClockTimes): number {
  return Math.min(wall - Date.now(), monotonic - machineMs());
}

/** Equal in all processes of a machine. */
function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Returns how the program ended. Throws LaunchError if it got no input, OutputError if it wrote too much, and the
 * signal's reason if that ended it. No process of its group and none with its mark runs any more by then; one that hid
 * itself from a program which ended well is found by a sweep soon after.
 */
export async function runProgram(order: ProgramOrder, { calls, log }: CallPlace): Promise<ProgramEnd> {
  order.signal.throwIfAborted();
  refuseLate(order, 'the program was not started');
  const call = calls.begin(order.about);
  try {
    const started = await start(order, { log, call });
    try {
      return await attend(started);
    } catch (error) {
      await endAll(started);
      throw error;
    }
  } finally {
    call.end();
  }
}

/** What begins after its deadline would run beside what the next leader does for that server. */
function refuseLate({ deadline }: ProgramOrder, what: string): void {
  if (deadline !== undefined && msUntil(deadline) <= 0) throw new LaunchError(`${what}: its deadline had passed`);
}

/** Nothing is waited for between the start and the record: other programs would be started before this one is recorded. */
async function start(order: ProgramOrder, { log, call }: Omit<Started, 'order' | 'program'>): Promise<Started> {
  const program = launch(order, call.mark);
  if (program.pid === undefined) throw await program.error;
  const started = { order, log, call, program };
  try {
    call.record(program.pid);
    return started;
  } catch (error) {
    await endAll(started);
    throw new LaunchError('the program got no input, since its process could not be recorded', { cause: error });
  }
}

async function attend(started: Started): Promise<ProgramEnd> {
  const { order, program } = started;
  const { signal, input, outputBytesMax, graceMs } = order;
  const output = readOutput(program.stdout, outputBytesMax);
  const complaint = readTail(program.stderr, COMPLAINT_BYTES_MAX);
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    refuseLate(order, 'the program got no input');
    program.feed(input);
    const exit = await Promise.race([program.exited, output.overflow, aborted.promise]);
    await finish(started, { output, complaint });
    return { exit, output: output.text(), complaint: complaint.text() + notFoundWords(exit, order) };
  } catch (error) {
    if (signal.aborted) await askToEnd(program, graceMs);
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    program.close();
  }
}

/** What a script is run by, where it is found at all, says of its first line only that something is not found. */
function notFoundWords(exit: number | string, { command: [file] }: Program): string {
  const fault = exit === NOT_FOUND ? firstLineFault(file) : undefined;
  return fault === undefined ? '' : `\n${fault}`;
}

/** Processes that outlive the program, or hold its output open, are ended: its answer is complete without them. */
async function finish(started: Started, { output, complaint }: Outputs): Promise<void> {
  const ended = Promise.race([Promise.all([output.ended, complaint.ended]), output.overflow]);
  const isGone = await isGroupGone(started.program.pid);
  if (isGone && (await settlesWithin(ended, OUTPUT_MS_MAX))) return;
  await endAll(started);
  await settlesWithin(ended, OUTPUT_MS_MAX);
}

async function askToEnd({ pid }: Launched, graceMs: number): Promise<void> {
  signalGroup(pid, 'SIGTERM');
  await untilGroupGone(pid, graceMs);
}

/** Waits without a limit: until these processes have ended, no other call for their server may begin. */
async function endAll({ order, log, call, program }: Started): Promise<void> {
  const processes = { group: program.pid, isMarked: (mark: string) => mark === call.mark };
  while (!(await endProcesses(processes, ENDING_MS))) {
    log.error({ ...order.about, group: program.pid }, 'a program cannot be ended; its server waits for that');
  }
}

/** Returns true once a promise is resolved, or false after `ms`; throws what it is rejected with. */
function settlesWithin(settled: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, false);
    settled.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}

/** Reads a stream up to `bytesMax`. */
function readOutput(stream: Readable, bytesMax: number): ProgramOutput {
  const overflow = Promise.withResolvers<never>();
  const ended = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else overflow.reject(new OutputError(`the program wrote more than ${bytesMax} bytes`));
  });
  stream.on('close', ended.resolve);
  return { ended: ended.promise, overflow: overflow.promise, text: () => Buffer.concat(chunks).toString('utf8') };
}

/** Reads a stream to its end, and keeps the last `bytesMax`. */
function readTail(stream: Readable, bytesMax: number): Omit<ProgramOutput, 'overflow'> {
  const ended = Promise.withResolvers<void>();
  let tail = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk.subarray(-bytesMax)]).subarray(-bytesMax);
  });
  stream.on('close', ended.resolve);
  return { ended: ended.promise, text: () => tail.toString('utf8') };
}

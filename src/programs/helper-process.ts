// The helper process: starts and attends programs for the process that has started it. It stays small, since starting a
// program costs time in proportion to the memory of the process that starts it; see docs/decisions/0023.
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { describeFailure, type HelperOrder, type HelperReport, type OutputName } from './helper-messages.ts';
import { type CallPlace, msUntil, type ProgramOrder, runProgram } from './run-program.ts';
import { type CallLog, RunningCalls } from './running-calls.ts';
import { type ProgramStart, signalGroup, spawnProgram } from './spawn-program.ts';

/** A program whose streams are passed on. */
interface Relayed {
  readonly run: number;
  readonly child: ChildProcessWithoutNullStreams;
  /** The outputs of which the next piece was asked for. */
  readonly wanted: Set<OutputName>;
}

/** The longest time that a timer takes. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** It ends a program so long after its deadline, unless the signal of the call has: that has the reason. */
const LATE_MS = 1000;
const GONE = 'the process that asked for it has gone';
const OUTPUTS = ['stdout', 'stderr'] as const;

const calls = new Map<number, AbortController>();
const relayed = new Map<number, Relayed>();
let place: CallPlace | undefined;
let isEnding = false;

// No other process may ever look: the next start may be far away, and another proxy may get the same server before. A start
// that comes meanwhile ends this process first.
process.on('disconnect', () => void endAll());
// The process that has started it decides when it ends, also where a terminal or a service manager signals all processes.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('message', (order: HelperOrder) => void obey(order));

async function obey(order: HelperOrder): Promise<void> {
  if (order.kind === 'open') place = { calls: new RunningCalls(order.place, LOG), log: LOG };
  else if (order.kind === 'beat') report({ kind: 'beat' });
  else if (order.kind === 'call') await call(order.run, order.order);
  else if (order.kind === 'start') start(order.run, order.program);
  else if (order.kind === 'close') await exit();
  else if (order.kind === 'end' && calls.has(order.run)) calls.get(order.run)?.abort();
  else obeyFor(relayed.get(order.run), order);
}

function obeyFor(
  program: Relayed | undefined,
  order: Extract<HelperOrder, { kind: 'input' | 'input ends' | 'more' | 'end' }>,
): void {
  if (program === undefined) return;
  const { stdin } = program.child;
  if (order.kind === 'input') stdin.write(order.piece, () => report({ kind: 'taken', run: order.run }));
  else if (order.kind === 'input ends') stdin.end();
  else if (order.kind === 'end') endRelayed(program, order.ending);
  else {
    program.wanted.add(order.output);
    passOn(program, order.output);
  }
}

async function call(run: number, order: Omit<ProgramOrder, 'signal'>): Promise<void> {
  const end = new AbortController();
  calls.set(run, end);
  const limitMs = order.deadline === undefined ? TIMER_MS_MAX : Math.max(0, msUntil(order.deadline)) + LATE_MS;
  if (isEnding) end.abort(new Error(GONE));
  const late = setTimeout(() => end.abort(new Error('its deadline has passed')), Math.min(limitMs, TIMER_MS_MAX));
  try {
    if (place === undefined) throw new Error('the directory of calls is not open');
    report({ kind: 'ended', run, end: await runProgram({ ...order, signal: end.signal }, place) });
  } catch (error) {
    report({ kind: 'failed', run, ...describeFailure(error) });
  } finally {
    clearTimeout(late);
    calls.delete(run);
    if (isEnding) await exitOnceIdle();
  }
}

function start(run: number, program: ProgramStart): void {
  try {
    relay({ run, child: spawnProgram(program), wanted: new Set() });
  } catch (error) {
    // Some failures are thrown, such as arguments that are too long or too little memory. They are no matter of other runs.
    report({ kind: 'failed', run, ...describeFailure(error) });
  }
}

function relay(program: Relayed): void {
  const { run, child } = program;
  relayed.set(run, program);
  child.on('error', (error) => {
    relayed.delete(run);
    report({ kind: 'failed', run, ...describeFailure(error) });
  });
  child.on('close', (code, signal) => {
    if (relayed.delete(run)) report({ kind: 'closed', run, code, signal });
  });
  child.stdin.on('error', () => child.stdin.destroy());
  child.stdin.on('close', () => report({ kind: 'input closed', run }));
  for (const output of OUTPUTS) {
    child[output].on('readable', () => passOn(program, output));
    child[output].on('end', () => report({ kind: 'output', run, output, piece: null }));
    child[output].on('error', () => child[output].destroy());
  }
}

/** Passes on one piece if it was asked for and is there. */
function passOn({ run, child, wanted }: Relayed, output: OutputName): void {
  const piece: Uint8Array | null =
    wanted.has(output) || child[output].readableLength === 0 ? child[output].read() : null;
  if (piece === null) return;
  wanted.delete(output);
  report({ kind: 'output', run, output, piece });
}

function endRelayed({ child }: Relayed, ending: NodeJS.Signals): void {
  if (child.pid !== undefined) signalGroup(child.pid, ending);
  for (const output of OUTPUTS) child[output].removeAllListeners('readable').resume();
}

/**
 * Ends the programs of all calls, and then this process: no answer is waited for any more. Programs whose streams are
 * passed on lose these, and end.
 */
async function endAll(): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  for (const { child } of relayed.values()) for (const stream of child.stdio) stream?.destroy();
  for (const end of calls.values()) end.abort(new Error(GONE));
  await exitOnceIdle();
}

async function exitOnceIdle(): Promise<void> {
  if (calls.size === 0) await exit();
}

async function exit(): Promise<void> {
  await place?.calls.close();
  process.exit(0);
}

function report(message: HelperReport): void {
  if (process.connected) process.send?.(message, undefined, undefined, (error) => void (error !== null && endAll()));
}

const LOG: CallLog = {
  warn: (facts, text) => report({ kind: 'log', level: 'warn', facts, text }),
  error: (facts, text) => report({ kind: 'log', level: 'error', facts, text }),
};

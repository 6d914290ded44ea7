// The runner process: runs programs for the controller or proxy that has started it. It stays small, since starting a
// program costs time in proportion to the memory of the process that starts it; see docs/decisions/0064.
import { type CallPlace, runProgram } from './run-program.ts';
import { describeFailure, type RunnerOrder, type RunnerReport } from './runner-messages.ts';
import { type CallLog, RunningCalls } from './running-calls.ts';

/** The longest time that a timer takes. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const GONE = 'the process that asked for it has gone';

const running = new Map<number, AbortController>();
let place: CallPlace | undefined;
let isEnding = false;

// Nobody else may ever look: the next start may be far away, and another proxy may get the same server before. A start
// that comes meanwhile ends this process first.
process.on('disconnect', () => void endAll());
// Its controller decides when it ends, also where a terminal or a service manager signals all processes.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('message', (order: RunnerOrder) => void obey(order));

async function obey(order: RunnerOrder): Promise<void> {
  if (order.kind === 'open') place = { calls: new RunningCalls(order.place, LOG), log: LOG };
  else if (order.kind === 'beat') report({ kind: 'beat' });
  else if (order.kind === 'end') running.get(order.call)?.abort();
  else if (order.kind === 'run') await run(order);
  else {
    await place?.calls.close();
    process.exit(0);
  }
}

async function run({ call, order }: Extract<RunnerOrder, { kind: 'run' }>): Promise<void> {
  const end = new AbortController();
  running.set(call, end);
  const { limitMs = Number.POSITIVE_INFINITY } = order;
  if (isEnding) end.abort(new Error(GONE));
  const late = setTimeout(() => end.abort(new Error('its deadline has passed')), Math.min(limitMs, TIMER_MS_MAX));
  try {
    if (place === undefined) throw new Error('the directory of calls is not open');
    report({ kind: 'ended', call, end: await runProgram({ ...order, signal: end.signal }, place) });
  } catch (error) {
    report({ kind: 'failed', call, ...describeFailure(error) });
  } finally {
    clearTimeout(late);
    running.delete(call);
    if (isEnding) await exitOnceIdle();
  }
}

/** Ends all programs, and then this process: its controller or proxy has gone. */
async function endAll(): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  for (const end of running.values()) end.abort(new Error(GONE));
  await exitOnceIdle();
}

async function exitOnceIdle(): Promise<void> {
  if (running.size > 0) return;
  await place?.calls.close();
  process.exit(0);
}

function report(message: RunnerReport): void {
  if (process.connected) process.send?.(message, undefined, undefined, (error) => void (error !== null && endAll()));
}

const LOG: CallLog = {
  warn: (facts, text) => report({ kind: 'log', level: 'warn', facts, text }),
  error: (facts, text) => report({ kind: 'log', level: 'error', facts, text }),
};

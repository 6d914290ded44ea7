// The runner process: runs programs for the controller or proxy that has started it. It stays small, since starting a
// program costs time in proportion to the memory of the process that starts it; see docs/decisions/0064.
import { type CallPlace, runProgram } from './run-program.ts';
import { describeFailure, type RunnerOrder, type RunnerReport } from './runner-messages.ts';
import { type CallLog, RunningCalls } from './running-calls.ts';

const running = new Map<number, AbortController>();
let place: CallPlace | undefined;

// The next start kills what still runs. Waiting for it here would be beside that start.
process.on('disconnect', () => process.exit(0));
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
  try {
    if (place === undefined) throw new Error('the directory of calls is not open');
    report({ kind: 'ended', call, end: await runProgram({ ...order, signal: end.signal }, place) });
  } catch (error) {
    report({ kind: 'failed', call, ...describeFailure(error) });
  } finally {
    running.delete(call);
  }
}

function report(message: RunnerReport): void {
  // Without anybody to report to, there is nothing left to do here.
  process.send?.(message, undefined, undefined, (error: Error | null) => error !== null && process.exit(0));
}

const LOG: CallLog = {
  warn: (facts, text) => report({ kind: 'log', level: 'warn', facts, text }),
  error: (facts, text) => report({ kind: 'log', level: 'error', facts, text }),
};

// Preloaded into a controller: writes a line for every turn of its event loop that takes long. Its clock is the machine's monotonic one, which all processes share.
import { openSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** A line of the probe: a turn of the event loop. Milliseconds. */
export interface Stall {
  /** When it ended, by the monotonic clock. */
  readonly at: number;
  /** Processor time of the main thread meanwhile: another process that has the processor does not count. */
  readonly cpuMs: number;
}

/** The name of the environment variable with the file to write to. */
export const PROBE_FILE = 'TREELINE_BENCH_STALLS';
const TICK_MS = 5;
const NOTED_MS = 10;

/** Returns the monotonic clock in milliseconds, the same in every process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

const file = process.env[PROBE_FILE];
// The threads of the store and of compression are preloaded too, and nobody waits for their turns.
if (file !== undefined && isMainThread) startProbe(openSync(file, 'a'));

function startProbe(descriptor: number): void {
  const note = (stall: Stall): void => void writeSync(descriptor, `${JSON.stringify(stall)}\n`);
  let last = monotonicMs();
  let cpu = process.threadCpuUsage();
  setInterval(() => {
    const at = monotonicMs();
    const { user, system } = process.threadCpuUsage(cpu);
    const ms = at - last - TICK_MS;
    if (ms >= NOTED_MS) note({ at, cpuMs: (user + system) / 1000 });
    last = at;
    cpu = process.threadCpuUsage();
  }, TICK_MS).unref();
}

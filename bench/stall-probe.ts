// Preloaded into a controller: writes a line for every slow turn of its event loop. Uses the monotonic clock, which
// all processes share.
import { openSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** A line of the probe: a turn of the event loop. Milliseconds. */
export interface Stall {
  /** When it ended, by the monotonic clock. */
  readonly at: number;
  /** Processor time of the main thread, which excludes waits for other processes. */
  readonly cpuMs: number;
}

/** The name of the environment variable with the file to write to. */
export const PROBE_FILE = 'TREELINE_BENCH_STALLS';
const TICK_MS = 5;
const NOTED_MS = 10;

/** Returns the monotonic clock in milliseconds, which is the same in every process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

const file = process.env[PROBE_FILE];
// Threads of the store and of compression load this file too, but their turns do not matter.
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

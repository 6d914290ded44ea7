// Starts the process that sends small reads, and collects their times.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityFiles } from './load.ts';
import type { ServedController } from './served-controller.ts';
import type { SmallRead, SmallReads } from './small-reads-run.ts';
import { monotonicMs } from './stall-probe.ts';

const ROOT = join(import.meta.dirname, '..');
/** The time until the process runs and its connections are open. */
const START_MS = 2_000;
const READ = '/hiera/probe/log_level';

/** The file of the node whose record is read. Every desired state contains it. */
export const READ_NODE = { 'types/clientcert/probe.yaml': 'description: read all the time\n' };

/** Small reads, and the time in which they were sent, by the monotonic clock in milliseconds. */
export interface ReadsMeanwhile {
  readonly reads: readonly SmallRead[];
  readonly from: number;
  readonly to: number;
}

/**
 * Sends a small read every 20 ms from a separate process to a controller, whose site has {@link READ_NODE}, until the
 * work is done. Resolves with these reads.
 */
export async function readWhile(controller: ServedController, work: () => Promise<void>): Promise<ReadsMeanwhile> {
  const order: SmallReads = { ...identityFiles(controller.site), port: await controller.apiPort(), path: READ };
  const child = spawn(process.execPath, ['bench/small-reads-run.ts', JSON.stringify(order)], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const output = text(child.stdout);
  try {
    await sleep(START_MS);
    const from = monotonicMs();
    await work();
    const to = monotonicMs();
    child.stdin.end();
    const all = JSON.parse(await output) as SmallRead[];
    return { reads: all.filter(({ at }) => at >= from && at <= to), from, to };
  } finally {
    // Otherwise it would still send while the controller stops.
    child.kill();
  }
}

/** Returns the 99th percentile of the times, and the longest, in milliseconds. */
export function delaysOf(reads: readonly SmallRead[]): { readonly p99: number; readonly worst: number } {
  const sorted = reads.map(({ ms }) => ms).sort((a, b) => a - b);
  return { p99: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN, worst: sorted.at(-1) ?? Number.NaN };
}

// Starts the process that sends small reads, and collects their times.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityFiles } from './load.ts';
import type { ServedController } from './served-controller.ts';
import type { SmallRead, SmallReads } from './small-reads-run.ts';
import { monotonicMs } from './stall-probe.ts';

const ROOT = join(import.meta.dirname, '..');
/** Until the process runs and its connections are open. */
const START_MS = 2_000;
const READ = '/hiera/probe/log_level';

/** The file of the node whose record is read: every desired state has it, whatever changes. */
export const READ_NODE = { 'types/clientcert/probe.yaml': 'description: read all the time\n' };

/** Small reads, and the time in which they were sent, by the monotonic clock in milliseconds. */
export interface ReadsMeanwhile {
  readonly reads: readonly SmallRead[];
  readonly from: number;
  readonly to: number;
}

/** Sends small reads to a controller, whose site has {@link READ_NODE}, until work is done. Resolves with those that were sent meanwhile. */
export async function readWhile(controller: ServedController, work: () => Promise<void>): Promise<ReadsMeanwhile> {
  const reader = new SmallReader({ ...identityFiles(controller.site), port: await controller.apiPort(), path: READ });
  try {
    await reader.started();
    const from = monotonicMs();
    await work();
    const to = monotonicMs();
    const reads = (await reader.stop()).filter(({ at }) => at >= from && at <= to);
    return { reads, from, to };
  } catch (error) {
    // Else it would go on while the controller stops.
    reader.end();
    throw error;
  }
}

/** Sends a small read every 20 ms from a process of its own. */
class SmallReader {
  readonly #child: ChildProcess;
  #output = '';

  constructor(reads: SmallReads) {
    this.#child = spawn(process.execPath, ['bench/small-reads-run.ts', JSON.stringify(reads)], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
  }

  /** Resolves once it sends reads. */
  async started(): Promise<void> {
    await sleep(START_MS);
  }

  /** Ends it, whatever it has measured. */
  end(): void {
    this.#child.kill();
  }

  /** Ends it, and resolves with all reads that were answered. */
  async stop(): Promise<readonly SmallRead[]> {
    this.#child.stdin?.end();
    const [code] = (await once(this.#child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`the process that reads ended with ${code}`);
    return JSON.parse(this.#output) as SmallRead[];
  }
}

/** Returns the 99th percentile of the times, and the longest, in milliseconds. */
export function delaysOf(reads: readonly SmallRead[]): { readonly p99: number; readonly worst: number } {
  const sorted = reads.map(({ ms }) => ms).sort((a, b) => a - b);
  return { p99: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN, worst: sorted.at(-1) ?? Number.NaN };
}

// Starts the process that sends small reads, and collects their times.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SmallRead, SmallReads } from './small-reads-run.ts';

const ROOT = join(import.meta.dirname, '..');
/** Until the process runs and its connections are open. */
const START_MS = 2_000;

/** Sends a small read every 20 ms from a process of its own. */
export class SmallReader {
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

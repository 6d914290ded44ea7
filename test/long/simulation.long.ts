// Many seeds of the simulator, in two processes at once: one simulation uses one core. `npm run test:long`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const SEEDS = 200_000;
/** A history is played once for each way: one seed takes as long as 40 of the others. */
const HISTORIES = 4_000;
const PROCESSES = 2;
const MERGES = 5_000;
/** Half an hour on a machine that does nothing else; one that is shared may take ten times as long. */
const LIMIT_MS = 6 * 3_600_000;
const ROOT = join(import.meta.dirname, '..', '..');

it(
  `keeps every promise over ${SEEDS} seeds`,
  async () => {
    const broken = await brokenIn(SEEDS, ['--quiet']);
    expect(broken, 'npm run simulate -- --seed <seed>').toEqual([]);
  },
  LIMIT_MS,
);

it(
  `loses in no way of playing ${HISTORIES} histories what stays one by one`,
  async () => {
    const broken = await brokenIn(HISTORIES, ['--variants']);
    expect(broken, 'npm run simulate -- --variants --seed <seed>').toEqual([]);
  },
  LIMIT_MS,
);

it(
  `${MERGES} merges do what their plans say`,
  async () => {
    const broken = await brokenIn(MERGES, ['--plans']);
    expect(broken, 'npm run simulate -- --plans --seed <seed>').toEqual([]);
  },
  LIMIT_MS,
);

/** Returns what the processes say of the first seeds that break a promise. */
async function brokenIn(seeds: number, options: readonly string[]): Promise<readonly string[]> {
  const others = new AbortController();
  onTestFinished(() => others.abort());
  const each = seeds / PROCESSES;
  const runs = Array.from({ length: PROCESSES }, async (_, index) => {
    const broken = await firstBroken(
      [...options, '--from', `${1 + index * each}`, '--seeds', `${each}`],
      others.signal,
    );
    if (broken !== '') others.abort();
    return broken;
  });
  return (await Promise.all(runs)).filter((broken) => broken !== '');
}

/** Returns what a process says of the first seed that breaks a promise; an empty text if none does, or it was ended. */
async function firstBroken(options: readonly string[], ending: AbortSignal): Promise<string> {
  const script = ['--max-semi-space-size=64', 'test/simulation/run.ts', ...options];
  const child = spawn(process.execPath, script, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  ending.addEventListener('abort', () => void child.kill());
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = await once(child, 'close');
  return code === 0 || ending.aborted ? '' : output || `a process with ${options.join(' ')} ended with ${code}`;
}

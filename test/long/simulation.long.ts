// Many seeds of the simulator, in two processes at once: one simulation uses one core. `npm run test:long`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const SEEDS = 200_000;
const PROCESSES = 2;
/** Seeds between two lines of progress of a process. */
const SEEDS_A_LINE = 5_000;
/** Half an hour on a machine that does nothing else; one that is shared may take ten times as long. */
const LIMIT_MS = 6 * 3_600_000;
const ROOT = join(import.meta.dirname, '..', '..');

it(
  `keeps every promise over ${SEEDS} seeds`,
  async () => {
    const others = new AbortController();
    onTestFinished(() => others.abort());
    const each = SEEDS / PROCESSES;
    const runs = Array.from({ length: PROCESSES }, async (_, index) => {
      const broken = await firstBroken(1 + index * each, each, others.signal);
      if (broken !== '') others.abort();
      return broken;
    });
    expect(await Promise.all(runs), 'npm run simulate -- --seed <seed>').toEqual(runs.map(() => ''));
  },
  LIMIT_MS,
);

/** Returns what a process says of the first seed that breaks a promise; an empty text if none does, or it was ended. */
async function firstBroken(from: number, count: number, ending: AbortSignal): Promise<string> {
  const options = ['--quiet', '--from', `${from}`, '--seeds', `${count}`, '--progress', `${SEEDS_A_LINE}`];
  const script = ['--max-semi-space-size=64', 'test/simulation/run.ts', ...options];
  const child = spawn(process.execPath, script, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  ending.addEventListener('abort', () => void child.kill());
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = await once(child, 'close');
  return code === 0 || ending.aborted ? '' : output || `the process from seed ${from} ended with ${code}`;
}

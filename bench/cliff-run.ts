// One case of the benchmark `cliffs` at one size, in a process of its own, so that it can be ended: `cliff-run.ts CASE SIZE`.
// Prints one line of JSON a step.
import { setTimeout as sleep } from 'node:timers/promises';
import { CLIFF_CASES } from './cliff-cases.ts';

/** How often the event loop is asked for a turn. */
const TICK_MS = 5;

async function measure(step: string, work: () => Promise<void>): Promise<void> {
  process.stdout.write(`${JSON.stringify({ step })}\n`);
  const stall = new Stall();
  const start = performance.now();
  const before = process.cpuUsage();
  await work();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(before);
  const stallSeconds = await stall.end();
  process.stdout.write(`${JSON.stringify({ step, seconds, cpuSeconds: (user + system) / 1e6, stallSeconds })}\n`);
}

/** The longest time for which the event loop gave no turn to a timer. */
class Stall {
  #last = performance.now();
  #longestMs = 0;
  readonly #timer = setInterval(() => this.#tick(), TICK_MS);

  async end(): Promise<number> {
    await sleep(2 * TICK_MS);
    clearInterval(this.#timer);
    return Math.max(0, this.#longestMs - TICK_MS) / 1000;
  }

  #tick(): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#last);
    this.#last = now;
  }
}

const [name = '', size = ''] = process.argv.slice(2);
const found = CLIFF_CASES[name];
if (found === undefined) throw new Error(`there is no case "${name}"`);
await found.run(Number(size), measure);

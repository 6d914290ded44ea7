// `npm run cluster` as a person uses it: the lines that it prints are run as they are pasted, the leader is killed, stopped and ended, and
// another one leads. In the end nothing is left.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const WAIT_MS = 120_000;

/** The running cluster, and what it has printed. */
class RunningCluster {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  printed = '';

  constructor() {
    this.#child = spawn(process.execPath, [join(ROOT, 'scripts', 'cluster.ts')], {
      ...{ cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
    });
    this.#closed = once(this.#child, 'close');
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.printed += text;
    });
    onTestFinished(async () => void (await this.end()));
  }

  /** Resolves with what matches in what is printed after the first `from` characters. */
  async until(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    const timeout = AbortSignal.timeout(WAIT_MS);
    for (;;) {
      const found = pattern.exec(this.printed.slice(from));
      if (found !== null) return found;
      if (timeout.aborted) throw new Error(`it never printed ${pattern}: ${this.printed}`);
      const more = once(this.#child.stdout ?? this.#child, 'data', { signal: timeout });
      await Promise.race([more, this.#closed]).catch(() => undefined);
      if (this.#child.exitCode !== null) throw new Error(`it has ended: ${this.printed}`);
    }
  }

  /** Ends it as Ctrl-C does. */
  async end(): Promise<number | null> {
    this.#child.kill('SIGINT');
    await this.#closed;
    return this.#child.exitCode;
  }
}

it('another one leads where the leader is killed, stopped and ended, as the printed lines do it', async () => {
  const cluster = new RunningCluster();
  const [, first] = await cluster.until(/^\/leaderz.* ([abc]) leads$/m);
  const [, setting = ''] = await cluster.until(/see who leads:\n([\s\S]*?)\n {2}treeline status\n/);
  const [folder = ''] = await cluster.until(/\/\S*treeline-cluster-\w+/);
  const paste = async (line: string): Promise<string> => {
    const script = `${setting}\n${line}`;
    return (await promisify(execFile)('bash', ['-c', script], { cwd: ROOT, timeout: WAIT_MS })).stdout;
  };
  const lineWith = (text: string): string =>
    cluster.printed.split('\n').find((line) => line.startsWith('  ') && line.includes(text)) ??
    `echo no ${text}; false`;
  expect(await paste('treeline status')).toContain(`the replica ${first} leads since `);
  let leader = first;
  for (const signal of ['kill -KILL', 'kill -STOP', 'kill -TERM']) {
    const from = cluster.printed.length;
    await paste(lineWith(signal));
    const [, next] = await cluster.until(new RegExp(`^/leaderz.* (?!${leader})([abc]) leads$`, 'm'), from);
    leader = next;
    // All are there again.
    await cluster.until(/^\/leaderz[^–\n]*(?:[abc] \d+ 200\s+){3}[abc] leads$/m, from + 1);
    expect(await paste('treeline status')).toContain(`the replica ${next} leads since `);
  }
  expect(await paste(lineWith('treeline suspend'))).toContain('shop-staging is resumed');
  expect(await cluster.end()).toBe(0);
  expect(cluster.printed).toContain('nothing is left');
  expect(existsSync(folder)).toBe(false);
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
  expect(stdout.split('\n').filter((line) => line.includes(folder))).toEqual([]);
}, 600_000);

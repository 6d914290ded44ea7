// `treeline serve`, or another command that runs on, in a process of its own, and what it logs. It can be stopped, and it
// can be killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { isMap, type JsonMap } from '../../src/model/json.ts';
import { BUNDLED } from './command-line.ts';

const WAIT_MS = 60_000;

export class ServingProcess {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #lines: JsonMap[] = [];
  readonly #waiting = new Set<() => void>();
  #rest = '';
  #stderr = '';

  /** Starts it. It does not outlive the running test. */
  constructor(config: string, command: 'serve' | 'proxy' | 'render' = 'serve') {
    const arguments_ = [BUNDLED, command, '--config', config];
    this.#child = spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#closed = once(this.#child, 'close').then(() => this.#wake());
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    onTestFinished(() => {
      this.#child.kill('SIGKILL');
    });
  }

  /** Every whole line that it has logged. */
  get lines(): readonly JsonMap[] {
    return this.#lines;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves with the first line of a message, which may have been logged before. Rejects where it ends without one. */
  async logged(message: string): Promise<JsonMap> {
    const timeout = AbortSignal.timeout(WAIT_MS);
    for (;;) {
      const line = this.#lines.find(({ msg }) => msg === message);
      if (line !== undefined) return line;
      if (this.isOver || timeout.aborted) throw new Error(`it never logged "${message}"; ${this.#said()}`);
      await this.#more(timeout);
    }
  }

  /** Resolves with the port of the REST interface once it listens. */
  async port(): Promise<number> {
    const { api } = await this.logged('listening');
    if (!isMap(api) || typeof api.port !== 'number') throw new Error('the line "listening" has no port');
    return api.port;
  }

  /** Sends it a signal, and waits for nothing. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it as an operator or a power cut would, and resolves with its exit code once it is gone; null: a signal ended it. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    this.#child.kill(signal);
    return await this.exit();
  }

  /** Resolves with its exit code once it has ended by itself. */
  async exit(): Promise<number | null> {
    await this.#closed;
    return this.#child.exitCode;
  }

  #read(text: string): void {
    const lines = `${this.#rest}${text}`.split('\n');
    // What follows the last line break was not printed whole.
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#lines.push(JSON.parse(line));
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  async #more(timeout: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    timeout.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#waiting.delete(resolve);
  }

  #said(): string {
    const last = this.#lines.slice(-5).map((line) => JSON.stringify(line));
    return `it said:\n${[...last, this.#stderr].join('\n')}`;
  }
}

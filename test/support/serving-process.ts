// Commands of the program that run on, in processes of their own, and what they print. They can be stopped, and they can be killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { isMap, type JsonMap } from '../../src/model/json.ts';
import { BUNDLED, plainEnvironment } from './command-line.ts';

const WAIT_MS = 60_000;

/** A command that runs on. It does not outlive the running test. */
class RunningCommand {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  /** What it has printed. */
  protected output = '';
  #stderr = '';

  constructor(child: ChildProcess, signalAtEnd: 'SIGINT' | 'SIGKILL') {
    this.#child = child;
    this.#closed = once(child, 'close');
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    onTestFinished(() => this.end(signalAtEnd).then(() => undefined));
  }

  get stderr(): string {
    return this.#stderr;
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Sends it a signal, and waits for nothing. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it as an operator or a power cut would, and resolves with its exit code once it is gone; null: a signal ended it. */
  async end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null> {
    if (!this.isOver) this.#child.kill(signal);
    return await this.exit();
  }

  /** Resolves with its exit code once it has ended by itself. */
  async exit(): Promise<number | null> {
    await this.#closed;
    return this.#child.exitCode;
  }

  /** Resolves with what is found in its output, perhaps later. Rejects if it ends before that, or after a minute. */
  protected async until<Found>(text: string, find: () => Found | undefined): Promise<Found> {
    const timeout = AbortSignal.timeout(WAIT_MS);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      const said = (): string => `it said:\n${this.output.split('\n').slice(-6).join('\n')}${this.#stderr}`;
      if (this.isOver || timeout.aborted) throw new Error(`it never printed "${text}"; ${said()}`);
      const more = once(this.#child.stdout ?? this.#child, 'data', { signal: timeout }).catch(() => undefined);
      await Promise.race([more, this.#closed]);
    }
  }
}

/** `treeline serve`, or another command with a log. */
export class ServingProcess extends RunningCommand {
  readonly #lines: JsonMap[] = [];
  /** How much of the output is in the lines. */
  #read = 0;

  constructor(config: string, command: 'serve' | 'proxy' | 'render' = 'serve') {
    const arguments_ = [BUNDLED, command, '--config', config];
    super(spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'pipe'] }), 'SIGKILL');
  }

  /** Every whole line that it has logged. */
  get lines(): readonly JsonMap[] {
    for (let end = this.#end(); end >= 0; end = this.#end()) {
      this.#lines.push(JSON.parse(this.output.slice(this.#read, end)));
      this.#read = end + 1;
    }
    return this.#lines;
  }

  #end(): number {
    return this.output.indexOf('\n', this.#read);
  }

  /** Resolves with the first line of a message, which may have been logged before. Rejects if it ends without one. */
  logged(message: string): Promise<JsonMap> {
    return this.until(message, () => this.lines.find(({ msg }) => msg === message));
  }

  /** Resolves with the port of the REST interface once it listens. */
  async port(): Promise<number> {
    const { api } = await this.logged('listening');
    if (!isMap(api) || typeof api.port !== 'number') throw new Error('the line "listening" has no port');
    return api.port;
  }
}

/** `treeline demo`, as somebody starts it in a folder. */
export class RunningDemo extends RunningCommand {
  constructor(folder: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const options = { cwd: folder, env: { ...plainEnvironment(), ...env } };
    super(spawn(process.execPath, [BUNDLED, 'demo', ...args], options), 'SIGINT');
  }

  /** Resolves with everything printed once that contains a text; by default, how to continue. */
  printed(text = 'To start over'): Promise<string> {
    return this.until(text, () => (this.output.includes(text) ? this.output : undefined));
  }
}

// A terminal as a newcomer has it: bash in a folder with a blank in its name, 80 columns, and the machine's own Node first.
// The environment has nothing of the tests but a cache for compiled modules, in that home, and
// where a test asks for it a quick `npm`.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { BUNDLED, plainEnvironment, ROOT } from './command-line.ts';
import { type Block, patternOf } from './document-blocks.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const PATIENCE = { timeout: 60_000, interval: 50 };

/** What became of a block that was pasted. */
export interface Pasted {
  readonly code: number;
  /** What both streams printed, as a terminal shows it. */
  readonly output: string;
}

/** Returns an empty home, whose name has a blank. */
export function newcomer(): string {
  const home = join(temporaryDirectory(), 'a home');
  mkdirSync(home);
  return home;
}

/**
 * Gives an operator a command `npm` that runs what the scripts `start` and `treeline` of package.json run, out of the bundle: that
 * takes a sixth of the processor time of npm and the sources. It knows nothing else, so a document that calls another script fails.
 */
export function provideQuickNpm(home: string): void {
  const program = `exec "${process.execPath}" "${BUNDLED}"`;
  const script = `#!/bin/sh
[ "$1" != --prefix ] || shift 2
case "$* " in
  "start ") ${program} demo ;;
  "run -s treeline -- "*) shift 4 && ${program} "$@" ;;
esac
echo "npm $*: only what the documents call is known here" >&2
exit 64
`;
  mkdirSync(quickCommands(home));
  writeFileSync(join(quickCommands(home), 'npm'), script, { mode: 0o755 });
}

function quickCommands(home: string): string {
  return join(home, '.commands');
}

/** The parts of a clone that the documents use. */
const PARTS = ['package.json', 'src', 'scripts', 'schemas', 'sample-repo', 'contrib', 'README.md', 'docs'];

/** Returns the folder of a clone in a home. The packages are those of the tests, linked instead of installed again. */
export function cloneFor(home: string): string {
  const clone = join(home, 'treeline');
  mkdirSync(clone);
  for (const part of PARTS) cpSync(join(ROOT, part), join(clone, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  return clone;
}

export class Terminal {
  readonly #shell: ChildProcessByStdio<Writable, Readable, Readable>;
  #output = '';
  #count = 0;

  constructor(home: string, cwd: string) {
    // A group of its own, so that everything that was started in it ends with it.
    const options = { cwd, env: environmentOf(home), stdio: 'pipe', detached: true } as const;
    this.#shell = spawn('bash', ['--norc', '--noprofile'], options);
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
      });
    }
    onTestFinished(() => this.close());
  }

  /** Pastes a block, and resolves when it has ended. What installs packages may need more time. */
  async paste(block: string, timeoutMs = PATIENCE.timeout): Promise<Pasted> {
    this.#count += 1;
    const mark = `end-of-block-${this.#count}`;
    const from = this.#output.length;
    this.#shell.stdin.write(`{\n${block}\n} </dev/null 2>&1\necho "${mark} $?"\n`);
    const ended = new RegExp(`^${mark} (\\d+)\\n`, 'm');
    await expect.poll(() => this.#output.slice(from), { ...PATIENCE, timeout: timeoutMs }).toMatch(ended);
    const output = this.#output.slice(from);
    const found = ended.exec(output);
    return { code: Number(found?.[1]), output: output.slice(0, found?.index) };
  }

  /** Pastes a block of a document, which has to print what the document says. */
  async pasteBlock({ text, line, output: wanted }: Block): Promise<void> {
    const { code, output } = await this.paste(text);
    // A mistake is reported before anything is committed; nothing else fails.
    expect(code, `line ${line}: ${output}`).toBe(/ validate /.test(text) && / error:/.test(output) ? 1 : 0);
    if (wanted !== undefined) expect(output, `line ${line}`).toMatch(patternOf(wanted));
  }

  /** Pastes a block that goes on running, and resolves with what it has printed once `sign` is among that. */
  async leaveRunning(block: string, sign: RegExp): Promise<string> {
    const from = this.#output.length;
    this.#shell.stdin.write(`${block}\n`);
    await expect.poll(() => this.#output.slice(from), PATIENCE).toMatch(sign);
    return this.#output.slice(from);
  }

  /** Ends the shell, and whatever runs in it. */
  async close(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#shell;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const closed = new Promise((resolve) => this.#shell.once('close', resolve));
    process.kill(-pid, 'SIGTERM');
    const killer = setTimeout(() => process.kill(-pid, 'SIGKILL'), 10_000);
    await closed;
    clearTimeout(killer);
  }
}

/** The tests run on the Node of the packages; an operator's own comes first again, whichever that is. */
function environmentOf(home: string): NodeJS.ProcessEnv {
  const { PATH = '', LANG } = plainEnvironment();
  const path = [quickCommands(home), ...PATH.split(':').filter((folder) => !folder.includes('node_modules'))];
  return {
    PATH: path.join(':'),
    HOME: home,
    COLUMNS: '80',
    LANG: LANG ?? 'C.UTF-8',
    TERM: 'dumb',
    // The documents call the program dozens of times, and without it each start takes thrice as long.
    NODE_COMPILE_CACHE: join(home, '.compiled'),
  };
}

// A terminal as a newcomer has it: bash in a folder with a blank in its name, 80 columns, the machine's own Node first, and no
// right to write anywhere else. The environment has nothing of the tests but a cache for compiled modules, in that home, and
// where a test asks for it a quick `npm`.
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { chownSync, cpSync, lchownSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { BUNDLED, plainEnvironment, ROOT } from './command-line.ts';
import { type Block, patternOf } from './document-blocks.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Without a name, and without any right: "nobody" on most systems. */
const OUTSIDER = 65_534;
const PATIENCE = { timeout: 60_000, interval: 50 };

/** An operator: a home of their own, and whose rights they have. */
export interface Person {
  readonly home: string;
  /** Undefined where the tests themselves run without special rights. */
  readonly uid: number | undefined;
}

/** What became of a block that was pasted. */
export interface Pasted {
  readonly code: number;
  /** What both streams printed, as a terminal shows it. */
  readonly output: string;
}

/** Returns an operator with an empty home, whose name has a blank. Where the tests run as root, it is not root. */
export function newcomer(): Person {
  const folder = temporaryDirectory();
  const uid = process.getuid?.() === 0 && isReadableFor(OUTSIDER) ? OUTSIDER : undefined;
  const home = join(folder, 'a home');
  mkdirSync(home);
  if (uid !== undefined) for (const path of [folder, home]) chownSync(path, uid, uid);
  return { home, uid };
}

function asUser(uid: number): readonly string[] {
  return ['setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--inh-caps=-all'];
}

/** The packages are linked, so a clone below the home of root is of no use to anybody else; said, as the test shows less then. */
function isReadableFor(uid: number): boolean {
  const [file = '', ...args] = [...asUser(uid), 'test', '-r', `${ROOT}/package.json`];
  const { status, error } = spawnSync(file, args);
  if (status === 0) return true;
  const reason = error === undefined ? `an ordinary user may not read ${ROOT}` : error.message;
  process.stderr.write(`the documents are followed with the rights of root: ${reason}\n`);
  return false;
}

/**
 * Gives an operator a command `npm` that runs what the scripts `start` and `treeline` of package.json run, out of the bundle: that
 * takes a sixth of the processor time of npm and the sources. It knows nothing else, so a document that calls another script fails.
 */
export function provideQuickNpm({ home }: Person): void {
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

/**
 * Returns the folder of a clone in an operator's home, which is theirs, with what `change` changes in it. The packages are those of the
 * tests, linked instead of installed again.
 */
export function cloneFor({ home, uid }: Person, change?: (clone: string) => void): string {
  const clone = join(home, 'treeline');
  mkdirSync(clone);
  for (const part of PARTS) cpSync(join(ROOT, part), join(clone, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  change?.(clone);
  if (uid === undefined) return clone;
  for (const name of readdirSync(clone, { recursive: true })) {
    const path = join(clone, String(name));
    if (!path.startsWith(join(clone, 'node_modules'))) lchownSync(path, uid, uid);
  }
  chownSync(clone, uid, uid);
  return clone;
}

export class Terminal {
  readonly #shell: ChildProcessByStdio<Writable, Readable, Readable>;
  #output = '';
  #count = 0;

  constructor({ home, uid }: Person, cwd: string) {
    const command = ['bash', '--norc', '--noprofile'];
    const [file = '', ...args] = uid === undefined ? command : [...asUser(uid), ...command];
    // A group of its own, so that everything that was started in it ends with it.
    this.#shell = spawn(file, args, { cwd, env: environmentOf(home), stdio: 'pipe', detached: true });
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
    ...{ PATH: path.join(':'), HOME: home, COLUMNS: '80', LANG: LANG ?? 'C.UTF-8', TERM: 'dumb' },
    // The documents call the program dozens of times, and without it each start takes thrice as long.
    NODE_COMPILE_CACHE: join(home, '.compiled'),
  };
}

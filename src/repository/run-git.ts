// Runs the system's git without a shell, with its own environment and configuration, in a process group that is ended
// as a whole. Each run has a time limit and an output limit.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { devNull } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { isOnPath } from '../base/on-path.ts';

/** A repository, its connection or git failed. The message contains advice; `cause` has the details. */
export class GitError extends Error {
  override readonly name = 'GitError';
}

/** The content of a commit exceeds a limit or cannot be represented. Fetching again does not help. */
export class ContentError extends GitError {
  /** Identifies this error in code that does not import this folder. */
  readonly isOfContent = true;
}

/** Git ended with an exit code other than 0, or by a signal. */
export class GitFailure extends GitError {
  /** Null if a signal ended git. */
  readonly code: number | null;
  readonly endedBy: NodeJS.Signals | null;
  /** The standard output until then. */
  readonly output: Buffer;
  /** The standard error output, at most 64 KiB. */
  readonly complaint: string;

  constructor(command: string, ending: Pick<GitFailure, 'code' | 'endedBy' | 'output' | 'complaint'>) {
    const { code, endedBy, output, complaint } = ending;
    super(`"git ${command}" ended with ${code ?? endedBy}: ${complaint === '' ? 'it printed nothing' : complaint}`);
    this.code = code;
    this.endedBy = endedBy;
    this.output = output;
    this.complaint = complaint;
  }
}

/** The repository for git, and the configuration in addition to that of the repository. */
export interface GitOptions {
  /** The repository's directory; undefined: git finds it, or needs none. */
  readonly directory?: string | undefined;
  /** Replaces the configuration of the user; default: none. That of the system is never read. */
  readonly configFile?: string | undefined;
  /** Variables in addition to those that every git gets. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/** The limits and the input of one run. */
export interface RunOptions {
  readonly input?: Uint8Array | string;
  /** Ends git; then `run` throws its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Default: one minute. */
  readonly timeoutMs?: number;
  /** The maximum size of the standard output; default: 64 MiB. */
  readonly outputBytesMax?: number;
  /** The maximum size of a file that git or its children write; only on Linux. */
  readonly fileBytesMax?: number;
  /** Applied to git's output before it appears in an error. */
  readonly redact?: (text: string) => string;
  /**
   * Ends git when the controller ends or is killed; only on Linux with setpriv. For runs that write or use the
   * network.
   */
  readonly endsWithParent?: boolean;
}

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const COMPLAINT_BYTES_MAX = 64 * 1024;
/** How long to wait for a killed git to end, for example while it waits for a network disk. */
const CLOSE_MS_MAX = 10_000;

const INHERITED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'TMPDIR', 'TZ', 'GIT_EXEC_PATH'];

/** Git with fixed options. Methods may be called concurrently. */
export class Git {
  readonly directory: string | undefined;
  readonly #environment: NodeJS.ProcessEnv;

  constructor({ directory, configFile = devNull, environment = {} }: GitOptions) {
    this.directory = directory;
    this.#environment = {
      ...inherit(INHERITED),
      LC_ALL: 'C',
      GIT_CONFIG_GLOBAL: configFile,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      // refs/replace must not substitute other objects.
      GIT_NO_REPLACE_OBJECTS: '1',
      ...environment,
    };
  }

  /** Starts git in its own process group. The caller reads its output, handles its errors and ends it. */
  start(args: readonly string[], options: Pick<RunOptions, 'fileBytesMax' | 'endsWithParent'> = {}): RunningGit {
    const place = this.directory === undefined ? [] : [`--git-dir=${this.directory}`];
    const [program = 'git', ...rest] = [...wrappers(options), 'git', ...place, ...args];
    // In the root directory, git finds no repository by chance.
    return spawn(program, rest, { env: this.#environment, cwd: '/', detached: true, stdio: 'pipe' });
  }

  /**
   * Resolves with the standard output of git if it succeeds. Throws GitFailure if git fails, ContentError if it prints
   * too much, GitError if it takes too long or cannot be started, and the signal's reason if that aborts. When it
   * throws, no process of the group is left.
   */
  async run(args: readonly string[], options: RunOptions = {}): Promise<Buffer> {
    const { input = '', signal, timeoutMs = TIMEOUT_MS } = options;
    signal?.throwIfAborted();
    const child = this.start(args, options);
    const { promise: stopped, reject: stop } = Promise.withResolvers<never>();
    const closed = new Promise<unknown>((resolve) => child.once('close', resolve));
    const command = commandOf(args);
    const timer = setTimeout(
      () => stop(new GitError(`"git ${command}" did not end within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    const abort = (): void => stop(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    // If git closes its input early, the exit code shows the cause.
    child.stdin.on('error', () => child.stdin.destroy());
    child.stdin.end(input);
    try {
      return await Promise.race([readResult(child, command, options), stopped]);
    } catch (error) {
      endGroup(child);
      // Waits for closed streams, not for an empty group: a zombie stays in its group until its parent reaps it, which
      // the first process of a container may never do.
      if (!(error instanceof GitFailure)) await Promise.race([closed, wait(CLOSE_MS_MAX, undefined, { ref: false })]);
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Returns the output of {@link run} as text, without the last newline. */
  async text(args: readonly string[], options: RunOptions = {}): Promise<string> {
    return (await this.run(args, options)).toString().replace(/\n$/, '');
  }
}

/** A git that was started, with all its streams. */
export type RunningGit = ChildProcessWithoutNullStreams;

/** Kills the process group of a git. */
export function endGroup({ pid }: RunningGit): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Returns the error if git could not be started. */
export function startFailure(error: Error): GitError {
  const isMissing = 'code' in error && error.code === 'ENOENT';
  const message = isMissing
    ? 'git cannot be started: install git, and add it to the PATH'
    : `git could not be started: ${error.message}`;
  return new GitError(message, { cause: error });
}

/** Returns the variables of this process with these names. */
export function inherit(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/** Returns programs that set limits and then execute git. */
function wrappers({ fileBytesMax, endsWithParent }: RunOptions): readonly string[] {
  if (process.platform !== 'linux') return [];
  const ending = endsWithParent === true && isOnPath('setpriv') ? ['setpriv', '--pdeathsig', 'TERM', '--'] : [];
  return fileBytesMax === undefined ? ending : [...ending, ...limit(fileBytesMax)];
}

/** A shell counts the limit in blocks of 512 bytes. */
function limit(fileBytesMax: number): readonly string[] {
  return ['sh', '-c', `ulimit -f ${Math.ceil(fileBytesMax / 512)} && exec "$0" "$@"`];
}

/** Returns the subcommand, for messages, because the arguments may be long. */
function commandOf(args: readonly string[]): string {
  return args.find((arg, index) => !arg.startsWith('-') && args[index - 1] !== '-c' && args[index - 1] !== '-C') ?? '';
}

async function readResult(
  child: RunningGit,
  command: string,
  { outputBytesMax = OUTPUT_BYTES_MAX, redact = (text) => text }: RunOptions,
): Promise<Buffer> {
  const output: Buffer[] = [];
  let outputBytes = 0;
  let complaint = '';
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  child.stdout.on('data', (chunk: Buffer) => {
    outputBytes += chunk.length;
    if (outputBytes <= outputBytesMax) output.push(chunk);
    else reject(new ContentError(`"git ${command}" printed more than the ${outputBytesMax} bytes that are read`));
  });
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = `${complaint}${chunk}`.slice(0, COMPLAINT_BYTES_MAX);
  });
  child.on('error', (error) => reject(startFailure(error)));
  child.on('close', (code, endedBy) => {
    const bytes = Buffer.concat(output);
    if (code === 0) resolve(bytes);
    else {
      const output = Buffer.from(redact(bytes.toString()));
      reject(new GitFailure(command, { code, endedBy, output, complaint: redact(complaint.trim()) }));
    }
  });
  return await promise;
}

/** Throws GitError if the system's git is older than a version such as `2.34`. */
export async function checkGitVersion(least: string): Promise<void> {
  const printed = await new Git({}).text(['version']);
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(printed)?.map(Number) ?? [];
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  throw new GitError(`${printed || 'git'} is too old: install git ${least} or newer`);
}

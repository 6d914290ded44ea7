// Runs the system's git without a shell, in a process group that can be ended as a whole. Input and output may be
// streams, so that neither has to fit into memory.
import type { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { HelperClient } from '../../programs/helper-client.ts';
import { type ProgramStart, type RunningProgram, signalGroup, spawnProgram } from '../../programs/spawn-program.ts';
import { gitEnvironment } from './git-environment.ts';
import { untilAborted } from './until-aborted.ts';

/** The arguments, the input and the limits of one run of git. */
export interface GitOrder {
  /** Another program than git, which gets the same environment: the shell that runs ssh. */
  readonly program?: string;
  readonly args: readonly string[];
  /** Added to {@link gitEnvironment}. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * A stream is read no faster than git consumes it, and a piece of it is not used any more once the next is requested.
   */
  readonly input?: Uint8Array | AsyncIterable<Uint8Array>;
  /** The repository's name, for messages. */
  readonly name: string;
  /** The maximum size of the output, in bytes. */
  readonly answerBytesMax: number;
  /** Ends git and all processes that it started. */
  readonly signal: AbortSignal;
  /** The signal that ends git; default SIGKILL. With SIGTERM, git removes its locks and unfinished files. */
  readonly ending?: 'SIGKILL' | 'SIGTERM';
  /** Runs at a lower priority, so that other processes, such as this one, get the processor first. */
  readonly givesWay?: boolean;
}

/** A repository, the connection to it, or git itself failed. Its message says what to do; `cause` holds the details. */
export class GitError extends Error {
  override readonly name = 'GitError';
}

/** What is asked for is intact, and too large or nothing that can be read. It stays so: asking or fetching again does not help. */
export class ContentError extends GitError {
  /** By this, those who know no Git tell it from others. */
  readonly isOfContent = true;
}

/** Git ended with another exit code than 0. */
export class GitFailure extends GitError {
  /** Its exit code, or the signal that ended it. */
  readonly ending: number | string | null;
  /** The standard error output of git and of programs that it started. */
  readonly complaint: string;

  constructor(name: string, ending: number | string | null, complaint: string) {
    super(`git could not read "${name}" (ended with ${ending}): ${complaint}`);
    this.ending = ending;
    this.complaint = complaint;
  }
}

/** Limit for git's standard error output. */
export const COMPLAINT_BYTES_MAX = 4096;

/**
 * Returns git's output. Throws GitFailure if git fails, GitError if it cannot be started or prints too much, and the
 * signal's reason as soon as that comes.
 */
export async function runGit(order: GitOrder): Promise<readonly Uint8Array[]> {
  return await streamGit(order, async (output) => [await buffer(output)]);
}

/**
 * Returns the result of `work`, which reads git's output. The output ends only if git has succeeded: a failure is
 * thrown to the reader, as {@link runGit} throws it. An error of the input stream ends git and is thrown unchanged.
 */
export async function streamGit<Value>(
  order: GitOrder,
  work: (output: AsyncIterable<Buffer>) => Promise<Value>,
): Promise<Value> {
  order.signal.throwIfAborted();
  const child = start(order);
  let isOver = false;
  child.on('close', () => {
    isOver = true;
  });
  const output = readOutput(child, order);
  try {
    return await untilAborted(order.signal, async () => {
      const [value] = await Promise.all([work(output), feed(child.stdin, order.input)]);
      return value;
    });
  } finally {
    if (!isOver) child.end(order.ending ?? 'SIGKILL');
  }
}

/** Starts git in a process group of its own, with {@link gitEnvironment}. The caller feeds, reads and ends it. */
export function startGit(
  args: readonly string[],
  environment: GitOrder['environment'] = {},
  givesWay = false,
): RunningProgram {
  return start({ args, environment, givesWay });
}

function start({
  program = 'git',
  args,
  environment,
  givesWay = false,
}: Pick<GitOrder, 'program' | 'args' | 'environment' | 'givesWay'>): RunningProgram {
  return launch({ command: [program, ...args], environment: { ...gitEnvironment(), ...environment }, givesWay });
}

/** Above this, a start of git takes tens of milliseconds in which nothing else happens; a helper process takes 50 MiB. */
const OWN_START_BYTES_MAX = 192 * 2 ** 20;

/** One for the process, begun when git is first needed by a large process, and again when it has ended. */
let helper: HelperClient | undefined;

/** A small process starts git itself, a large one has it started by a helper process. */
function launch(program: ProgramStart): RunningProgram {
  if (process.memoryUsage.rss() > OWN_START_BYTES_MAX) {
    if (helper?.isConnected !== true) helper = new HelperClient();
    return helper.start(program);
  }
  const child = spawnProgram(program);
  const end = (ending: NodeJS.Signals): void => void (child.pid !== undefined && signalGroup(child.pid, ending));
  return Object.assign(child, { end });
}

/**
 * Git may close its input early without an error here: its exit code and its messages show what happened. The rest of
 * the input is still read, since it may report that it is incomplete.
 */
async function feed(stdin: Writable, input: GitOrder['input'] = new Uint8Array()): Promise<void> {
  stdin.on('error', () => stdin.destroy());
  if (input instanceof Uint8Array) {
    stdin.end(input);
    return;
  }
  for await (const chunk of input) {
    if (!stdin.destroyed) await written(stdin, chunk);
  }
  stdin.end();
}

/** Resolves once git has the piece, or has closed its input. */
function written(stdin: Writable, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    stdin.write(chunk, () => resolve());
  });
}

function readOutput(child: RunningProgram, { name, answerBytesMax }: GitOrder): AsyncIterable<Buffer> {
  let bytes = 0;
  const success = awaitSuccess(child, name);
  // The reader of the output gets this error; without a reader it is handled here.
  success.catch(() => undefined);
  async function* read(): AsyncGenerator<Buffer> {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > answerBytesMax) {
        throw new GitError(`"${name}" sends more than the ${answerBytesMax} bytes that are taken at once`);
      }
      yield chunk;
    }
    await success;
  }
  return read();
}

/** Resolves once git has succeeded and all of its output was read. */
function awaitSuccess(child: RunningProgram, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = `${complaint}${chunk}`.slice(0, COMPLAINT_BYTES_MAX);
    });
    child.on('error', (error) => reject(startFailure(name, error)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new GitFailure(name, code ?? signal, complaint.trim()));
    });
  });
}

/** Returns the error for a git that could not be started. */
export function startFailure(name: string, error: Error): GitError {
  const missing = 'code' in error && error.code === 'ENOENT';
  const message = missing
    ? `git is not installed, or not on the PATH: "${name}" is read through it`
    : `git could not be started: ${error.message}`;
  return new GitError(message, { cause: error });
}

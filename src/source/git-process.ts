// Runs the system's git without a shell, in a process group of its own that can be ended as a whole.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { untilAborted } from './deadline.ts';
import { SourceError } from './source.ts';

export interface GitOrder {
  readonly args: readonly string[];
  /** Added to the environment of this process, from which variables such as GIT_DIR are left out. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array;
  /** The repository that it works on, for messages. */
  readonly name: string;
  /** The largest output that is taken, in bytes. */
  readonly answerBytesMax: number;
  /** Ends git and everything that it started. */
  readonly signal: AbortSignal;
  /** How: default SIGKILL. With SIGTERM, git removes its locks and what it has not finished. */
  readonly ending?: 'SIGKILL' | 'SIGTERM';
}

/** Git ended with another code than 0. */
export class GitFailure extends SourceError {
  /** What it, or a program that it started, wrote to standard error. */
  readonly complaint: string;
  /** What it printed until then. */
  readonly output: string;

  constructor(name: string, ending: number | string | null, complaint: string, output = '') {
    super(`git could not read "${name}" (ended with ${ending}): ${complaint}`);
    this.complaint = complaint;
    this.output = output;
  }
}

const COMPLAINT_BYTES_MAX = 4096;

/**
 * Returns what git prints. Throws GitFailure where it fails, SourceError where it cannot be started or prints too much,
 * and the signal's reason as soon as that comes.
 */
export async function runGit(order: GitOrder): Promise<readonly Uint8Array[]> {
  order.signal.throwIfAborted();
  const environment = { ...cleanEnvironment(), ...order.environment };
  const child = spawn('git', order.args, { env: environment, detached: true });
  let isOver = false;
  child.on('close', () => {
    isOver = true;
  });
  // That git closes its input early is no error here: its exit code and its words tell what happened.
  child.stdin.on('error', () => child.stdin.destroy());
  child.stdin.end(order.input);
  try {
    return await untilAborted(order.signal, () => collectOutput(child, order));
  } finally {
    if (!isOver) endGroup(child, order.ending ?? 'SIGKILL');
  }
}

/** Variables such as GIT_DIR, which git sets for hooks, would send it to another repository. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('GIT_') || name.startsWith('GIT_CONFIG_') || name === 'GIT_EXEC_PATH',
  );
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}

function collectOutput(
  child: ChildProcessWithoutNullStreams,
  { name, answerBytesMax }: GitOrder,
): Promise<readonly Uint8Array[]> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let complaint = '';
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= answerBytesMax) chunks.push(chunk);
      else reject(new SourceError(`"${name}" sends more than the ${answerBytesMax} bytes that are taken at once`));
    });
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = `${complaint}${chunk}`.slice(0, COMPLAINT_BYTES_MAX);
    });
    child.on('error', (error) => reject(startFailure(name, error)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve(chunks);
      else reject(new GitFailure(name, code ?? signal, complaint.trim(), Buffer.concat(chunks).toString('utf8')));
    });
  });
}

function startFailure(name: string, error: Error): SourceError {
  const missing = 'code' in error && error.code === 'ENOENT';
  const message = missing
    ? `git is not installed, or not on the PATH: "${name}" is read through it`
    : `git could not be started: ${error.message}`;
  return new SourceError(message, { cause: error });
}

/** A process group has the id of the process that began it. */
function endGroup({ pid }: ChildProcessWithoutNullStreams, ending: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, ending);
  } catch (error) {
    const isGone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!isGone) throw error;
  }
}

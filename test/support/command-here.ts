// Runs commands in the process of the test: a process of its own takes a second of processor time to start. What a process adds, as
// signals and streams, is tested with the function of the same name in command-line.ts.
import { run } from '../../src/cli/run.ts';
import { type ProcessResult, plainEnvironment, type RunOptions } from './command-line.ts';

/** One command runs at a time, since they share the folder, the environment and the streams of the process. */
let last: Promise<unknown> = Promise.resolve();

/** Runs `treeline` until the command is over. Not for commands that wait for a signal. */
export function treeline(args: readonly string[], options: Omit<RunOptions, 'timeoutMs'> = {}): Promise<ProcessResult> {
  const ended = last.then(() => runHere(args, options));
  last = ended.catch(() => undefined);
  return ended;
}

async function runHere(args: readonly string[], { cwd = '/', env = {} }: RunOptions): Promise<ProcessResult> {
  const { argv, exitCode } = process;
  const [folder, variables] = [process.cwd(), process.env];
  const [stdout, stderr] = [captured(process.stdout), captured(process.stderr)];
  try {
    process.chdir(cwd);
    process.argv = ['node', 'treeline', ...args];
    process.exitCode = undefined;
    process.env = { ...plainEnvironment(), ...env };
    await run();
    return { code: Number(process.exitCode ?? 0), stdout: stdout.text, stderr: stderr.text };
  } finally {
    for (const each of [stdout, stderr]) each.end();
    process.chdir(folder);
    Object.assign(process, { argv, exitCode, env: variables });
  }
}

/** Keeps what is written to a stream, until the end. */
function captured(stream: NodeJS.WriteStream): { text: string; end(): void } {
  const { write } = stream;
  const kept = { text: '', end: () => void Object.assign(stream, { write }) };
  stream.write = (part: string | Uint8Array) => {
    kept.text += typeof part === 'string' ? part : Buffer.from(part).toString();
    return true;
  };
  return kept;
}

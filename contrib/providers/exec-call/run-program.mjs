// Runs a system program for a call, with limits on its time and its output.
import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { CallFailure } from './call-failure.mjs';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Runs a program until it ends. At the deadline the program gets the signal. It inherits the server's lock.
 * @param {string} path
 * @param {readonly string[]} args
 * @param {object} call
 * @param {number} call.deadline milliseconds since 1970
 * @param {number | undefined} call.lockFd
 * @param {NodeJS.ProcessEnv} [call.environment]
 * @param {string} [call.folder] the working directory
 * @param {NodeJS.Signals} [call.signal]
 * @returns {Promise<{ readonly end: number | NodeJS.Signals | null, readonly stdout: string, readonly stderr: string,
 *   readonly isLate: boolean }>} `isLate`: the program got the signal
 */
export async function runProgram(path, args, { deadline, lockFd, environment, folder, signal = 'SIGKILL' }) {
  const name = basename(path);
  if (Date.now() >= deadline) throw new CallFailure('retryable', `there is no time left for ${name} ${args[0]}`);
  const child = spawn(path, args, {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe', lockFd ?? 'ignore'],
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill(signal);
  }, deadline - Date.now());
  const [stdout, stderr, end] = await Promise.all([
    readAll(child.stdout, name),
    readAll(child.stderr, name),
    endOf(child, name).finally(() => clearTimeout(timer)),
  ]);
  return { end, stdout, stderr, isLate };
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} name
 * @returns {Promise<number | NodeJS.Signals | null>}
 */
function endOf(child, name) {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new CallFailure('failed', `${name} cannot be started: ${error.message}`)));
    child.once('exit', (code, signal) => resolve(code ?? signal));
  });
}

/**
 * @param {import('node:stream').Readable | null} stream
 * @param {string} name
 */
async function readAll(stream, name) {
  if (stream === null) return '';
  let text = '';
  stream.setEncoding('utf8');
  for await (const part of stream) {
    text += part;
    if (text.length > OUTPUT_BYTES_MAX) throw new CallFailure('retryable', `${name} printed more than 64 MiB`);
  }
  return text;
}

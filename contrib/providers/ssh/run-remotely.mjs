// Runs one script on a machine with the system's ssh, with limits on its time and its output.
import { spawn } from 'node:child_process';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { findProgram } from '../exec-call/environment.mjs';
import { READY, remoteCommand } from './remote-command.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Call} Call
 * @typedef {{ readonly code: number | null, readonly stdout: string, readonly stderr: string,
 *   readonly isTimedOut: boolean, readonly isBegun: boolean }} RemoteEnd `isBegun`: the call was sent to the machine
 */

const OUTPUT_BYTES_MAX = 1024 * 1024;
const RESERVE_MS_MAX = 10_000;

/**
 * Runs a script with the call on its standard input. Resolves when the script has ended, or when its time is over.
 * A quarter of the call's time, at most 10 s, is reserved for ending the script and for the answer.
 * @param {readonly string[]} target arguments of ssh, up to the host
 * @param {string} script
 * @param {Call} call
 * @returns {Promise<RemoteEnd>}
 */
export async function runRemotely(target, script, { text, deadline, resource: name }) {
  const leftMs = deadline - Date.now();
  const limitMs = leftMs - Math.min(leftMs / 4, RESERVE_MS_MAX);
  if (limitMs <= 0) throw new CallFailure('retryable', 'the deadline has passed');
  const command = remoteCommand(script, { name, seconds: Math.max(Math.floor(limitMs / 1000), 1) });
  const ssh = spawn(findProgram('ssh'), [...target, command], { stdio: ['pipe', 'pipe', 'pipe'] });
  let isTimedOut = false;
  let isBegun = false;
  const timer = setTimeout(
    () => {
      isTimedOut = true;
      ssh.kill('SIGKILL');
    },
    leftMs - Math.min(leftMs / 8, RESERVE_MS_MAX / 2),
  );
  // Standard input stays open: for the machine, its end is the end of the connection.
  ssh.stdin.on('error', () => ssh.stdin.destroy());
  /** @param {string} output */
  const begin = (output) => {
    if (isBegun || !output.includes(`${READY}\n`)) return;
    isBegun = true;
    ssh.stdin.write(`${text}\n`);
  };
  const stop = () => ssh.kill('SIGKILL');
  const [stdout, stderr, code] = await Promise.all([
    readAll(ssh.stdout, stop),
    readAll(ssh.stderr, stop, begin),
    endOf(ssh).finally(() => clearTimeout(timer)),
  ]);
  return { code, stdout, stderr: stderr.replace(`${READY}\n`, ''), isTimedOut, isBegun };
}

/**
 * @param {import('node:child_process').ChildProcess} ssh
 * @returns {Promise<number | null>}
 */
function endOf(ssh) {
  return new Promise((resolve, reject) => {
    ssh.once('error', (error) => reject(new CallFailure('failed', `ssh cannot be started: ${error.message}`)));
    ssh.once('exit', (code) => resolve(code));
  });
}

/**
 * @param {import('node:stream').Readable} stream
 * @param {() => void} stop
 * @param {(text: string) => void} [onText] gets the whole text read so far
 */
async function readAll(stream, stop, onText) {
  let text = '';
  stream.setEncoding('utf8');
  for await (const part of stream) {
    text += part;
    onText?.(text);
    if (text.length <= OUTPUT_BYTES_MAX) continue;
    stop();
    throw new CallFailure('failed', `the script printed more than ${OUTPUT_BYTES_MAX} bytes`);
  }
  return text;
}

// Makes the command line that runs a script on the machine: with the call on its standard input, no longer than its
// deadline, and no longer than the connection lasts.
import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { requiredSetting } from '../exec-call/environment.mjs';

/** A command line holds 128 KiB on Linux. */
const SCRIPT_BYTES_MAX = 96 * 1024;
const KILL_AFTER_SECONDS = 5;

/**
 * Returns the text of the script for an operation. Throws CallFailure `failed` where there is none.
 * @param {string} operation
 * @returns {string}
 */
export function readScript(operation) {
  const folder = requiredSetting('TREELINE_SSH_SCRIPTS');
  const path = join(folder, `${operation}.sh`);
  if (!isAbsolute(folder)) throw new CallFailure('failed', 'TREELINE_SSH_SCRIPTS has to be an absolute path');
  if (!existsSync(path)) throw new CallFailure('failed', `there is no script ${path}`);
  const script = readFileSync(path, 'utf8');
  if (Buffer.byteLength(script) <= SCRIPT_BYTES_MAX) return script;
  throw new CallFailure('failed', `the script ${path} is longer than ${SCRIPT_BYTES_MAX} bytes`);
}

/**
 * Returns the command for the machine's shell. It reads the call as one line from its standard input. What follows on that
 * input is nothing, for as long as the connection lasts: at its end the script is ended too. timeout(1) makes a process
 * group of the script, so that its children end with it, and is what ends it where a cut line is not noticed.
 * @param {string} script
 * @param {number} seconds
 * @returns {string}
 */
export function remoteCommand(script, seconds) {
  const limit = `timeout -k ${KILL_AFTER_SECONDS} ${seconds}`;
  const guard = [
    'IFS= read -r call || exit 1',
    'exec 3<&0',
    // A pipe ends with its writer, so the script sees the end of its input.
    `printf "%s\\n" "$call" | ${limit} sh -c "$1" treeline 3<&- &`,
    'script=$!',
    '{ cat <&3 >/dev/null 2>&1; kill -TERM "$script" 2>/dev/null; } >/dev/null 2>&1 &',
    'line=$!',
    'exec 3<&-',
    'wait "$script"',
    'code=$?',
    'kill -TERM "$line" 2>/dev/null',
    'exit "$code"',
  ];
  return `exec sh -c ${quote(guard.join('\n'))} treeline ${quote(script)}`;
}

/** @param {string} text */
function quote(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

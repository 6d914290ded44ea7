// Builds the command line that runs a script on the machine, with the call on its standard input. The command ends the
// script at its deadline, or when the connection ends.
import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { requiredSetting } from '../exec-call/environment.mjs';

/** Linux limits an argument to 128 KiB. */
const SCRIPT_BYTES_MAX = 96 * 1024;
const KILL_AFTER_SECONDS = 5;
/** How long a call waits for an earlier script of its server, but at most half of its time. */
const LOCK_SECONDS_MAX = 30;
/** The exit code for `failed`. */
export const FAILED = 115;
/** The machine prints this when it has the lock and waits for the call. */
export const READY = 'treeline: ready';
/** The machine prints this if an earlier script of the server still runs. */
export const BUSY = 'treeline: busy';

/**
 * Returns the text of the script for an operation. Throws CallFailure `failed` if there is none.
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
 * Returns the command for the machine's shell. It takes the server's lock there, prints READY on standard error, and
 * only then reads the call, one line, from standard input. So a call that was never sent has changed nothing. After the
 * call, standard input stays open and empty until the connection ends: then the command ends the script. timeout(1)
 * runs the script in a process group, so that its children end with it. It also ends the script if the machine does not
 * notice a lost connection.
 * @param {string} script
 * @param {{ readonly name: string, readonly seconds: number }} limits the server, and the time for the whole command
 * @returns {string}
 */
export function remoteCommand(script, { name, seconds }) {
  const lockSeconds = Math.min(LOCK_SECONDS_MAX, Math.floor(seconds / 2));
  const guard = [
    `command -v flock >/dev/null || { echo "flock is missing on the machine: install util-linux" >&2; exit ${FAILED}; }`,
    'begun=$(date +%s)',
    'exec 9>>"$HOME/.treeline-$2.lock" || exit 1',
    `until flock -n 9; do [ $(($(date +%s) - begun)) -lt ${lockSeconds} ] || { echo "${BUSY}" >&2; exit 1; }; sleep 1; done`,
    `left=$((${seconds} - $(date +%s) + begun))`,
    '[ "$left" -ge 1 ] || left=1',
    `echo "${READY}" >&2`,
    'IFS= read -r call || exit 1',
    'exec 3<&0',
    // The script sees the end of its input after the call. A daemon that it starts does not keep the lock.
    `printf "%s\\n" "$call" | timeout -k ${KILL_AFTER_SECONDS} "$left" sh -c "$1" treeline 3<&- 9>&- &`,
    'script=$!',
    '{ cat <&3 >/dev/null 2>&1; kill -TERM "$script" 2>/dev/null; } >/dev/null 2>&1 9>&- &',
    'line=$!',
    'exec 3<&-',
    'wait "$script"',
    'code=$?',
    'kill -TERM "$line" 2>/dev/null',
    // ssh ends with 255 if the connection fails, so a script must not.
    '[ "$code" -ne 255 ] || code=254',
    'exit "$code"',
  ];
  return `exec sh -c ${quote(guard.join('\n'))} treeline ${quote(script)} ${quote(name)}`;
}

/** @param {string} text */
function quote(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

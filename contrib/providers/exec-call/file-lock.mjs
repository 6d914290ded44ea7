// Locks files with flock(2): the kernel releases a lock when its last process ends, even after SIGKILL.
// Node has no flock(2), so flock(1) of util-linux locks an open file of this process. The lock belongs to that file.
import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { CallFailure } from './call-failure.mjs';
import { findProgram } from './environment.mjs';

const FILE_MODE = 0o600;
const TAKEN = 75;
const WAIT_SECONDS_MAX = 3_600;

/**
 * A lock of this process. A child that inherits `fd` shares it until both have ended or closed the file.
 * @typedef {object} FileLock
 * @property {number} fd
 * @property {() => void} release
 */

/**
 * Creates the file at `path` if it is missing, and locks it. Returns undefined if another process still has the lock at
 * `until` (milliseconds since 1970; a past time tries once). If the file was removed during the wait, starts again.
 * @param {string} path
 * @param {number} until
 * @returns {Promise<FileLock | undefined>}
 */
export async function takeLock(path, until) {
  for (;;) {
    const fd = openSync(path, 'a', FILE_MODE);
    const isLocked = await lock(fd, until).catch((error) => {
      closeSync(fd);
      throw error;
    });
    if (isLocked && isAt(path, fd)) return { fd, release: () => closeSync(fd) };
    closeSync(fd);
    if (!isLocked) return undefined;
  }
}

/**
 * @param {number} fd
 * @param {number} until
 * @returns {Promise<boolean>}
 */
function lock(fd, until) {
  const seconds = Math.min(Math.max((until - Date.now()) / 1000, 0), WAIT_SECONDS_MAX);
  const args = ['--exclusive', '--conflict-exit-code', String(TAKEN), '--wait', seconds.toFixed(3), '3'];
  const program = spawn(findProgram('flock'), args, { stdio: ['ignore', 'ignore', 'ignore', fd] });
  return new Promise((resolve, reject) => {
    program.once('error', reject);
    program.once('exit', (code) => {
      if (code === 0) resolve(true);
      else if (code === TAKEN) resolve(false);
      else reject(new CallFailure('retryable', `flock ended with ${code}`));
    });
  });
}

/**
 * Returns true if the open file is still the one at `path`.
 * @param {string} path
 * @param {number} fd
 */
function isAt(path, fd) {
  return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino;
}

// Tells a process apart from a later one with the same id, by its start time. Linux only: reads /proc.
import { readFileSync } from 'node:fs';

/** Of `/proc/<pid>/stat`, counted after the name in brackets: the state, and the start in ticks since the boot. */
const STATE_FIELD = 0;
const START_FIELD = 19;

/**
 * What tells one process apart from all others: its id, its start in ticks since the boot, and the boot.
 * @typedef {{ readonly pid: number, readonly start: string, readonly boot: string }} ProcessIdentity
 */

/**
 * Returns the identity of a running process; undefined where there is none, or only its exit code is left.
 * @param {number} pid
 * @returns {ProcessIdentity | undefined}
 */
export function identityOf(pid) {
  const stat = readText(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const start = fields[START_FIELD];
  return start === undefined || fields[STATE_FIELD] === 'Z' ? undefined : { pid, start, boot: bootId() };
}

/**
 * Returns true if the process runs.
 * @param {ProcessIdentity} identity
 */
export function isRunning({ pid, start, boot }) {
  const now = identityOf(pid);
  return now?.start === start && now.boot === boot;
}

/** Returns the id of the present boot of this machine. */
export function bootId() {
  return readText('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
}

/** @param {string} path */
function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'))
      return undefined;
    throw error;
  }
}

// Distinguishes a process from a later one with the same id by its start time. Linux only: reads /proc.
import { readFileSync } from 'node:fs';

/** Fields of `/proc/<pid>/stat`, counted after the name in brackets: the state, and the start in ticks since boot. */
const STATE_FIELD = 0;
const START_FIELD = 19;

/**
 * Identifies a process by its id, its start in ticks since boot, and the id of the boot.
 * @typedef {{ readonly pid: number, readonly start: string, readonly boot: string }} ProcessIdentity
 */

/**
 * Returns the identity of a running process; undefined if there is none, or only a zombie.
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
 * Returns true if this process still runs.
 * @param {ProcessIdentity} identity
 */
export function isRunning({ pid, start, boot }) {
  const now = identityOf(pid);
  return now?.start === start && now.boot === boot;
}

/** Returns the id of the current boot of this machine. */
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

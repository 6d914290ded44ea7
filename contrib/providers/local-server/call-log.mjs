// Appends calls and processes to the file `calls.log`, one JSON object a line. It shows what ran, and in which order.
// At 64 MiB the file becomes `calls.log.1`.
import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { providerFolder } from './server-files.mjs';

const FILE_MODE = 0o600;
const BYTES_MAX = 64 * 1024 * 1024;

/**
 * Logs the beginning or the end of a call. A call that was killed has no end.
 * @param {object} entry
 * @param {'begin' | 'end'} entry.event
 * @param {import('../exec-call/answer-call.mjs').Call} entry.call
 * @param {string} [entry.outcome] of the end
 */
export function logCall({ event, call: { operation, action, resource }, outcome }) {
  append({ event, operation, action, resource, pid: process.pid, outcome });
}

/**
 * Logs that this process, which is a server, has started or is about to end. A process that was killed has no end.
 * @param {'started' | 'ended'} event
 * @param {string} resource
 */
export function logProcess(event, resource) {
  append({ event, resource, pid: process.pid });
}

/** @param {Record<string, unknown>} entry */
function append(entry) {
  const folder = providerFolder();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // One append writes the whole line, so lines of several processes do not mix.
  const line = { time: new Date().toISOString(), ...entry };
  const path = join(folder, 'calls.log');
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > BYTES_MAX) renameSync(path, `${path}.1`);
  appendFileSync(path, `${JSON.stringify(line)}\n`, { mode: FILE_MODE });
}

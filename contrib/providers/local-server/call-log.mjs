// The log of all calls and processes: one JSON object a line, only ever appended to. At 64 MiB it becomes `calls.log.1`, and a
// new one begins. It proves which calls were made, which processes ran, and in which order.
import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { providerFolder } from './server-files.mjs';

const FILE_MODE = 0o600;
const BYTES_MAX = 64 * 1024 * 1024;

/**
 * Appends the begin or the end of a call to `calls.log`. A call that was killed has a begin and no end.
 * @param {object} entry
 * @param {'begin' | 'end'} entry.event
 * @param {import('../exec-call/answer-call.mjs').Call} entry.call
 * @param {string} [entry.outcome] of the end
 */
export function logCall({ event, call: { operation, action, resource }, outcome }) {
  append({ event, operation, action, resource, pid: process.pid, outcome });
}

/**
 * Appends that this process, which is the server, has begun or is about to end. One that is killed has no end.
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
  // One write of one short line to a file opened for appending: lines of several processes do not mix.
  const line = { time: new Date().toISOString(), ...entry };
  const path = join(folder, 'calls.log');
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > BYTES_MAX) renameSync(path, `${path}.1`);
  appendFileSync(path, `${JSON.stringify(line)}\n`, { mode: FILE_MODE });
}

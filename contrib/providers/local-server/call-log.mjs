// The log of all calls and processes: one JSON object a line, only ever appended to. It proves which calls were made, which
// processes ran, and in which order.
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { providerFolder } from './server-files.mjs';

const FILE_MODE = 0o600;

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
  appendFileSync(join(folder, 'calls.log'), `${JSON.stringify(line)}\n`, { mode: FILE_MODE });
}

// Answers the four operations by the scripts of the operator: the exit code is the outcome, the output what it tells.
import { CallFailure } from '../exec-call/call-failure.mjs';
import { BUSY, FAILED, readScript } from './remote-command.mjs';
import { runRemotely } from './run-remotely.mjs';
import { targetOf } from './target.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Call} Call
 * @typedef {import('../exec-call/answer-call.mjs').Answer} Answer
 * @typedef {import('../exec-call/answer-call.mjs').Handlers} Handlers
 * @typedef {import('../exec-call/answer-call.mjs').PropertyValue} PropertyValue
 * @typedef {import('./run-remotely.mjs').RemoteEnd} RemoteEnd
 */

/** Exit codes of a script that are outcomes. No usual program ends with them. */
const ABSENT = 113;
const REPLACE = 114;
/** ssh's own code: the connection was not made, or broke. */
const SSH_FAILED = 255;
/** timeout(1) has ended the script. */
const TIMED_OUT = 124;
const MESSAGE_CHARACTERS = 2_000;
/** Trying again does not help against these: an operator has to look. */
const NEEDS_PERSON = /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|Permission denied \(/;

/** @returns {Handlers} */
export function handlers() {
  return { check: answer, create: answer, update: answer, delete: answer };
}

/**
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function answer(call) {
  const script = readScript(call.operation);
  const end = await runRemotely(targetOf(call), script, call);
  if (end.code === 0) return succeeded(call, end);
  return end.isBegun ? unsuccessful(call, end) : notBegun(call, end);
}

/**
 * @param {Call} call
 * @param {RemoteEnd} end
 * @returns {Answer}
 */
function succeeded({ operation, resource }, { stdout, stderr }) {
  const values = stdout.trim() === '' ? {} : parseMap(stdout);
  if (values === undefined || (operation === 'check' && stdout.trim() === '')) {
    const printed = stdout.trim().slice(0, 200);
    throw new CallFailure('retryable', `the ${operation} script of ${resource} printed no JSON object: "${printed}"`);
  }
  const message = lastOf(stderr);
  if (operation !== 'check') return { outcome: 'done', message, outputs: values };
  return { outcome: 'done', message, observed: /** @type {Record<string, PropertyValue>} */ (values) };
}

/**
 * The machine did not get the call, so no script of it runs.
 * @param {Call} call
 * @param {RemoteEnd} end
 * @returns {Answer}
 */
function notBegun({ operation, resource }, { code, stderr, isTimedOut }) {
  const said = lastOf(stderr);
  if (isTimedOut) return { outcome: 'retryable', message: `the machine of ${resource} was not ready in time. ${said}` };
  if (code === SSH_FAILED)
    return { outcome: NEEDS_PERSON.test(stderr) ? 'failed' : 'retryable', message: `ssh: ${said}` };
  if (code === FAILED) return { outcome: 'failed', message: said };
  const message = stderr.includes(BUSY)
    ? `an earlier script of ${resource} still runs on the machine and has its lock; the ${operation} script was not begun. A script whose connection was cut ends when its own time is over`
    : `the ${operation} script of ${resource} was not begun (${code}): ${said}`;
  return { outcome: 'retryable', message };
}

/**
 * @param {Call} call
 * @param {RemoteEnd} end
 * @returns {Answer}
 */
function unsuccessful({ operation, resource }, { code, stderr, isTimedOut }) {
  const said = lastOf(stderr);
  if (isTimedOut || code === SSH_FAILED || code === null) {
    const how = isTimedOut ? 'did not end in time' : 'ran when the connection was lost';
    const message = `the ${operation} script of ${resource} ${how}. ${said}`;
    // It may run on until its own time is over. A check changes nothing, so it is simply made again.
    return { outcome: operation === 'check' ? 'retryable' : 'lost', message };
  }
  if (code === TIMED_OUT) {
    return { outcome: 'retryable', message: `the ${operation} script of ${resource} did not end in time. ${said}` };
  }
  if (code === ABSENT && operation !== 'create') return { outcome: 'absent', message: said };
  if (code === REPLACE && operation === 'update') return { outcome: 'replace', message: said };
  const message = `the ${operation} script of ${resource} ended with ${code}: ${said}`;
  return { outcome: code === FAILED ? 'failed' : 'retryable', message };
}

/**
 * Returns the object that a script printed, with numbers and booleans as strings, as properties are; undefined where it is
 * none, or holds something else.
 * @param {string} text
 * @returns {Record<string, PropertyValue> | undefined}
 */
function parseMap(text) {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  /** @type {Record<string, PropertyValue>} */
  const map = {};
  for (const [name, item] of Object.entries(value)) {
    const isList = Array.isArray(item) && item.every((part) => typeof part === 'string');
    if (!isList && !['string', 'number', 'boolean'].includes(typeof item)) return undefined;
    map[name] = isList ? item : String(item);
  }
  return map;
}

/**
 * @param {string} text
 * @returns {unknown}
 */
function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {string} text */
function lastOf(text) {
  return text.trim().slice(-MESSAGE_CHARACTERS);
}

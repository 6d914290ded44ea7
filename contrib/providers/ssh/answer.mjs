// Answers each operation by running the operator's script: its exit code is the outcome, its output the values.
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

/** Exit codes of scripts that mean an outcome. Ordinary programs do not use them. */
const ABSENT = 113;
const REPLACE = 114;
/** ssh's own exit code: it could not connect, or the connection broke. */
const SSH_FAILED = 255;
/** The exit code of timeout(1) if it ended the script. */
const TIMED_OUT = 124;
const MESSAGE_CHARACTERS = 2_000;
const AFTER_CUT = 'A script that has lost its connection may run until its own time is over';
/** Errors of ssh that retries do not solve: an operator must act. */
const NEEDS_OPERATOR = /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|Permission denied \(/;

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
    throw new CallFailure(
      'retryable',
      `the ${operation} script of ${resource} did not print a JSON object: "${printed}"`,
    );
  }
  const message = lastOf(stderr);
  if (operation !== 'check') return { outcome: 'done', message, outputs: values };
  return { outcome: 'done', message, observed: /** @type {Record<string, PropertyValue>} */ (values) };
}

/**
 * Answers a call that was not sent to the machine, so that its script did not start.
 * @param {Call} call
 * @param {RemoteEnd} end
 * @returns {Answer}
 */
function notBegun({ operation, resource }, { code, stderr, isTimedOut }) {
  const detail = lastOf(stderr);
  if (isTimedOut)
    return { outcome: 'retryable', message: `the machine of ${resource} was not ready in time. ${detail}` };
  if (code === SSH_FAILED)
    return { outcome: NEEDS_OPERATOR.test(stderr) ? 'failed' : 'retryable', message: `ssh: ${detail}` };
  if (code === FAILED) return { outcome: 'failed', message: detail };
  const message = stderr.includes(BUSY)
    ? `the ${operation} script of ${resource} was not started, because an earlier script still runs. ${AFTER_CUT}`
    : `the ${operation} script of ${resource} was not started (${code}): ${detail}`;
  return { outcome: 'retryable', message };
}

/**
 * @param {Call} call
 * @param {RemoteEnd} end
 * @returns {Answer}
 */
function unsuccessful({ operation, resource }, { code, stderr, isTimedOut }) {
  const detail = lastOf(stderr);
  if (isTimedOut || code === SSH_FAILED || code === null) {
    const how = isTimedOut ? 'did not end in time' : 'ran when the connection was lost';
    const message = `the ${operation} script of ${resource} ${how}. ${detail}`;
    // The script may run until its own time is over. A check changes nothing, so Treeline can repeat it.
    return { outcome: operation === 'check' ? 'retryable' : 'lost', message };
  }
  if (code === TIMED_OUT) {
    return { outcome: 'retryable', message: `the ${operation} script of ${resource} did not end in time. ${detail}` };
  }
  if (code === ABSENT && operation !== 'create') return { outcome: 'absent', message: detail };
  if (code === REPLACE && operation === 'update') return { outcome: 'replace', message: detail };
  const message = `the ${operation} script of ${resource} ended with ${code}: ${detail}`;
  return { outcome: code === FAILED ? 'failed' : 'retryable', message };
}

/**
 * Returns the JSON object that a script printed, with numbers and booleans as strings. Returns undefined if the text is
 * not an object, or if a value has another type.
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

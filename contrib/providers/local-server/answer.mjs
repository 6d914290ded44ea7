// Answers the four operations for local servers. Calls for one server run one after the other.
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { takeLock } from '../exec-call/file-lock.mjs';
import { withPlace } from '../exec-call/place.mjs';
import { logCall } from './call-log.mjs';
import { providerFolder, ServerFiles } from './server-files.mjs';
import { findProcess, reloadProcess, startProcess, stopProcess } from './server-process.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Call} Call
 * @typedef {import('../exec-call/answer-call.mjs').Answer} Answer
 * @typedef {import('../exec-call/answer-call.mjs').Handlers} Handlers
 * @typedef {import('./server-files.mjs').Running} Running
 */

/** A call ends this long before its deadline, so that its answer still arrives. */
const RESERVE_MS = 500;
const NOTHING_RUNS = /** @type {const} */ ({ outcome: 'absent', message: 'no process runs' });

/** @returns {Handlers} */
export function handlers() {
  const storage = {
    folder: providerFolder,
    hasServer: (/** @type {Call} */ call) => new ServerFiles(call.resource).exists(),
  };
  return withPlace(storage, {
    check: (call) => logged(call, checkServer),
    create: (call) => logged(call, makeServer),
    update: (call) => logged(call, updateServer),
    delete: (call) => logged(call, deleteServer),
  });
}

/**
 * Logs the beginning of a call before it waits for the lock, so that the log shows overlapping calls for one server.
 * @param {Call} call
 * @param {(files: ServerFiles, call: Call) => Promise<Answer>} perform
 */
async function logged(call, perform) {
  const files = new ServerFiles(call.resource);
  logCall({ event: 'begin', call });
  const answer = await perform(files, { ...call, deadline: call.deadline - RESERVE_MS }).catch((error) => {
    logCall({ event: 'end', call, outcome: error instanceof CallFailure ? error.outcome : 'retryable' });
    throw error;
  });
  logCall({ event: 'end', call, outcome: answer.outcome });
  return answer;
}

/**
 * @param {ServerFiles} files
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function checkServer(files, call) {
  const running = await findProcess(files, call.deadline);
  return running === undefined ? NOTHING_RUNS : answerWith(running);
}

/**
 * Starts the server, or passes the properties to a server that a lost create has started.
 * @param {ServerFiles} files
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function makeServer(files, call) {
  files.make();
  return await locked(files, call, async () => {
    const halfMs = delayOf(call) / 2;
    await sleep(halfMs);
    const running = await applyProperties(files, call);
    // A call that is killed in this half leaves a server whose create was never answered.
    await sleep(halfMs);
    return answerWith(running);
  });
}

/**
 * @param {ServerFiles} files
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function updateServer(files, call) {
  if (!files.exists()) return NOTHING_RUNS;
  return await locked(files, call, async () => {
    await sleep(delayOf(call));
    if ((await findProcess(files, call.deadline)) === undefined) return NOTHING_RUNS;
    return answerWith(await applyProperties(files, call));
  });
}

/**
 * @param {ServerFiles} files
 * @param {Call} call
 * @returns {Promise<Running>}
 */
async function applyProperties(files, { properties, deadline }) {
  const generation = (files.wanted()?.generation ?? 0) + 1;
  files.want({ generation, properties });
  files.markStopped(false);
  const found = await findProcess(files, deadline);
  const reloaded = found === undefined ? undefined : await reloadProcess(files, found, deadline);
  return reloaded ?? (await startProcess(files, deadline));
}

/**
 * @param {ServerFiles} files
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function deleteServer(files, call) {
  if (!files.exists()) return NOTHING_RUNS;
  return await locked(files, call, async () => {
    await sleep(delayOf(call));
    await stopProcess(files, call.deadline);
    files.remove();
    return { outcome: 'done', message: 'the process has ended' };
  });
}

/**
 * @param {ServerFiles} files
 * @param {Call} call
 * @param {() => Promise<Answer>} perform
 */
async function locked(files, { deadline }, perform) {
  const lock = await takeLock(files.callLock, deadline);
  if (lock === undefined) throw new CallFailure('retryable', `another call for ${files.name} is still running`);
  try {
    return await perform();
  } finally {
    lock.release();
  }
}

/**
 * @param {Running} running
 * @returns {Answer}
 */
function answerWith({ port, properties, process: { pid } }) {
  const outputs = { url: `http://127.0.0.1:${port}/` };
  return { outcome: 'done', message: `process ${pid}`, outputs, observed: properties };
}

/**
 * Returns the milliseconds that the call should take. `LOCAL_SERVER_CREATE_SECONDS` and the like are "2" or "1-10".
 * @param {Call} call
 */
function delayOf({ operation }) {
  const name = `LOCAL_SERVER_${operation.toUpperCase()}_SECONDS`;
  const text = process.env[name] ?? '0';
  const [least = Number.NaN, most = least] = text.split('-').map((part) => Number(part) * 1000);
  if (Number.isFinite(least) && least >= 0 && most >= least) return randomInt(Math.floor(least), Math.floor(most) + 1);
  throw new CallFailure('failed', `${name} is "${text}", and has to be seconds, or a range such as 1-10`);
}

// Finds, starts and ends the process of one local server. To start or end it, the caller needs the server's call lock.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { takeLock } from '../exec-call/file-lock.mjs';
import { isRunning } from '../exec-call/process-identity.mjs';

/**
 * @typedef {import('./server-files.mjs').ServerFiles} ServerFiles
 * @typedef {import('./server-files.mjs').Running} Running
 */

const PROGRAM = fileURLToPath(new URL('local-server.mjs', import.meta.url));
const POLL_MS = 20;
const STOP_MS = 5_000;
const LOG_MODE = 0o600;

/**
 * Returns what the server's process has written about itself; undefined if none runs. Waits until `until` for a process
 * that is still starting, even if its call was killed. Throws CallFailure `retryable` if it does not become ready.
 * @param {ServerFiles} files
 * @param {number} until
 * @returns {Promise<Running | undefined>}
 */
export async function findProcess(files, until) {
  for (;;) {
    const running = files.running();
    if (running !== undefined && isRunning(running.process)) return running;
    if (!files.exists() || (await isUnlocked(files.processLock))) return undefined;
    await waitOrFail(until, notReady(files));
  }
}

/**
 * Starts the server's process, which outlives this one. Returns what it has written about itself once it is ready.
 * @param {ServerFiles} files
 * @param {number} until
 * @returns {Promise<Running>}
 */
export async function startProcess(files, until) {
  // The process inherits the lock, so other calls notice it even if this call is killed.
  const lock = await takeLock(files.processLock, until);
  if (lock === undefined) throw new CallFailure('retryable', `an earlier process of ${files.name} still runs`);
  /** @type {import('node:child_process').ChildProcess} */
  let child;
  try {
    child = launch(files, lock.fd);
  } finally {
    lock.release();
  }
  for (;;) {
    const running = files.running();
    if (running !== undefined && isRunning(running.process)) return running;
    // Cheaper than the lock: each look at the lock starts a program.
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new CallFailure('retryable', `the process of ${files.name} ended: see ${files.log}`);
    }
    await waitOrFail(until, notReady(files));
  }
}

/** @param {ServerFiles} files */
function notReady(files) {
  return `the process of ${files.name} does not become ready`;
}

/**
 * Starts the process in its own session and without TREELINE_CALL, so that the end of the call does not end it.
 * @param {ServerFiles} files
 * @param {number} lockFd
 */
function launch(files, lockFd) {
  const { TREELINE_CALL: _, ...env } = process.env;
  const log = openSync(files.log, 'a', LOG_MODE);
  const child = spawn(process.execPath, [PROGRAM, 'run', files.name], {
    cwd: '/',
    env,
    detached: true,
    stdio: ['ignore', log, log, lockFd],
  });
  closeSync(log);
  child.unref();
  return child;
}

/**
 * Makes the server's process apply its changed properties. Returns undefined if the process ends instead.
 * @param {ServerFiles} files
 * @param {Running} running
 * @param {number} until
 * @returns {Promise<Running | undefined>}
 */
export async function reloadProcess(files, running, until) {
  signal(running, 'SIGHUP');
  const generation = files.wanted()?.generation ?? 0;
  for (;;) {
    const now = files.running();
    if (now !== undefined && now.generation >= generation) return now;
    if (!isRunning(running.process)) return undefined;
    await waitOrFail(until, `the process of ${files.name} does not apply its properties`);
  }
}

/**
 * Ends the server's process, if necessary with SIGKILL, and waits until it is gone.
 * @param {ServerFiles} files
 * @param {number} until
 */
export async function stopProcess(files, until) {
  const running = await findProcess(files, until);
  if (running === undefined) return;
  signal(running, 'SIGTERM');
  const forceAt = Math.min(Date.now() + STOP_MS, until);
  while (isRunning(running.process) && Date.now() < forceAt) await sleep(POLL_MS);
  if (isRunning(running.process)) signal(running, 'SIGKILL');
  while (isRunning(running.process)) await waitOrFail(until, `the process of ${files.name} does not end`);
}

/**
 * @param {Running} running
 * @param {NodeJS.Signals} name
 */
function signal({ process: { pid } }, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    const isGone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!isGone) throw error;
  }
}

/**
 * Returns true if no process has the lock, or if its folder is gone.
 * @param {string} path
 */
async function isUnlocked(path) {
  try {
    const lock = await takeLock(path, Date.now());
    lock?.release();
    return lock !== undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return true;
    throw error;
  }
}

/**
 * @param {number} until
 * @param {string} message
 */
async function waitOrFail(until, message) {
  if (Date.now() >= until) throw new CallFailure('retryable', message);
  await sleep(POLL_MS);
}

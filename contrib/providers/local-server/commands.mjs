// The commands for operators and for the demo: list, stop, start or change servers of the folder. They are not calls of
// Treeline, so the log of calls does not contain them.
import { CallFailure } from '../exec-call/call-failure.mjs';
import { takeLock } from '../exec-call/file-lock.mjs';
import { bootId } from '../exec-call/process-identity.mjs';
import { sourceOfConfiguration } from './follow-configuration.mjs';
import { allServers, ServerFiles } from './server-files.mjs';
import { findProcess, reloadProcess, startProcess, stopProcess } from './server-process.mjs';

const TIMEOUT_MS = 30_000;

/**
 * Returns one line for each server.
 * @returns {Promise<readonly string[]>}
 */
export async function listServers() {
  return await Promise.all(
    allServers().map(async (files) => {
      const running = await findProcess(files, Date.now() + TIMEOUT_MS);
      return `${files.name} ${running === undefined ? 'does not run' : `http://127.0.0.1:${running.port}/`}`;
    }),
  );
}

/**
 * Ends the processes of all servers, and marks these servers for {@link startServers}.
 * @returns {Promise<readonly string[]>}
 */
export async function stopServers() {
  return await forAll(async (files, until) => {
    if ((await findProcess(files, until)) === undefined) return [];
    files.markStopped(true);
    await stopProcess(files, until);
    return [`${files.name} stopped`];
  });
}

/**
 * Starts the servers that {@link stopServers} or a reboot has ended, and restarts them if LOCAL_SERVER_URL has changed.
 * A server that was killed stays down, because Treeline decides about it.
 * @returns {Promise<readonly string[]>}
 */
export async function startServers() {
  return await forAll(async (files, until) => {
    const last = files.running();
    if (last === undefined) return [];
    const isMoved = last.source !== sourceOfConfiguration() && (await findProcess(files, until)) !== undefined;
    if (!files.isStopped() && !isMoved && last.process.boot === bootId()) return [];
    if (isMoved) await stopProcess(files, until);
    const running = (await findProcess(files, until)) ?? (await startProcess(files, until));
    files.markStopped(false);
    return [`${files.name} http://127.0.0.1:${running.port}/`];
  });
}

/**
 * Changes one property of a running server behind Treeline's back, to show drift.
 * @param {readonly string[]} args
 */
export async function changeProperty([name = '', change = '']) {
  const [, property = '', value = ''] = change.match(/^([^=]+)=(.*)$/s) ?? [];
  const { files, running } = await requireRunning(name);
  if (property === '') throw new CallFailure('failed', `"${change}" is not PROPERTY=VALUE`);
  files.want({ generation: running.generation + 1, properties: { ...running.properties, [property]: value } });
  await reloadProcess(files, running, Date.now() + TIMEOUT_MS);
  return [`${name} ${property}=${value}`];
}

/**
 * Returns the address of a running server.
 * @param {readonly string[]} args
 */
export async function addressOf([name = '']) {
  const { running } = await requireRunning(name);
  return [`http://127.0.0.1:${running.port}/`];
}

/**
 * Returns the id of the process of a running server.
 * @param {readonly string[]} args
 */
export async function processOf([name = '']) {
  const { running } = await requireRunning(name);
  return [String(running.process.pid)];
}

/**
 * Throws CallFailure if no server of this name runs.
 * @param {string} name
 */
async function requireRunning(name) {
  const files = allServers().find((server) => server.name === name);
  const running = files === undefined ? undefined : await findProcess(files, Date.now() + TIMEOUT_MS);
  if (files !== undefined && running !== undefined) return { files, running };
  const advice = files === undefined ? 'the command list shows all servers of this folder' : 'its process has ended';
  throw new CallFailure('failed', `there is no running server "${name}": ${advice}`);
}

/**
 * Runs a command for every server, with the server's call lock, and returns all lines.
 * @param {(files: ServerFiles, until: number) => Promise<readonly string[]>} perform
 */
async function forAll(perform) {
  const until = Date.now() + TIMEOUT_MS;
  const lines = await Promise.all(
    allServers().map(async (files) => {
      const lock = await takeLock(files.callLock, until);
      if (lock === undefined) return [`${files.name} is busy, and stays as it is`];
      try {
        return await perform(files, until);
      } finally {
        lock.release();
      }
    }),
  );
  return lines.flat();
}

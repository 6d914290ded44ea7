// The files of one local server: the wanted properties, the running process, its last configuration, and the locks.
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { requiredSetting } from '../exec-call/environment.mjs';
import { readJson, writeJson } from '../exec-call/json-file.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Properties} Properties
 * @typedef {import('../exec-call/process-identity.mjs').ProcessIdentity} ProcessIdentity
 * @typedef {{ readonly generation: number, readonly properties: Properties }} Wanted by the last call
 * @typedef {{ readonly process: ProcessIdentity, readonly port: number, readonly generation: number,
 *   readonly properties: Properties, readonly source: string }} Running written by the process itself: what it applied
 */

/** The paths of one server. */
export class ServerFiles {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    this.folder = join(serversFolder(), name);
    /** A call for this server has this lock. */
    this.callLock = join(this.folder, 'call.lock');
    /** The server's process has this lock while it lives; before that, the call that starts it. */
    this.processLock = join(this.folder, 'process.lock');
    this.log = join(this.folder, 'log');
  }

  exists() {
    return existsSync(this.folder);
  }

  make() {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** @returns {Wanted | undefined} */
  wanted() {
    return readJson(join(this.folder, 'wanted.json'));
  }

  /** @param {Wanted} wanted */
  want(wanted) {
    writeJson(join(this.folder, 'wanted.json'), wanted);
  }

  /** @returns {Running | undefined} */
  running() {
    return readJson(join(this.folder, 'running.json'));
  }

  /** @param {Running} running */
  noteRunning(running) {
    writeJson(join(this.folder, 'running.json'), running);
  }

  /**
   * Returns the last configuration that an earlier process of the server has read.
   * @returns {import('./follow-configuration.mjs').Configuration}
   */
  configuration() {
    return { ...readJson(join(this.folder, 'configuration.json')), state: 'not read yet' };
  }

  /** @param {import('./follow-configuration.mjs').Configuration} configuration */
  keepConfiguration(configuration) {
    if (this.exists()) writeJson(join(this.folder, 'configuration.json'), configuration);
  }

  /** Returns true if the command `stop` has ended the server: `start` starts it again. */
  isStopped() {
    return existsSync(join(this.folder, 'stopped'));
  }

  /** @param {boolean} isStopped */
  markStopped(isStopped) {
    const path = join(this.folder, 'stopped');
    if (isStopped) writeJson(path, true);
    else rmSync(path, { force: true });
  }
}

/** Returns the files of all servers, sorted by name. */
export function allServers() {
  const folder = serversFolder();
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.sort().map((name) => new ServerFiles(name));
}

/** Returns the folder of the provider. Throws CallFailure `failed` if the setting is missing or relative. */
export function providerFolder() {
  const folder = requiredSetting('LOCAL_SERVER_DIRECTORY');
  if (isAbsolute(folder)) return folder;
  throw new CallFailure('failed', `LOCAL_SERVER_DIRECTORY is "${folder}", and has to be an absolute path`);
}

function serversFolder() {
  return join(providerFolder(), 'servers');
}

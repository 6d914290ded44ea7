// Reads a provider's settings: the environment contains only the variables of its entry.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { CallFailure } from './call-failure.mjs';

const FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** The search path for programs if the entry does not set PATH. */
export const USUAL_PATH = FOLDERS.join(delimiter);

/**
 * Returns the value of a setting. Throws CallFailure `failed` if it is missing.
 * @param {string} name
 * @returns {string}
 */
export function requiredSetting(name) {
  const value = process.env[name];
  if (value !== undefined && value !== '') return value;
  throw new CallFailure('failed', `${name} is not set: add it to the environment of the provider entry`);
}

/**
 * Returns a setting in seconds, at least 0. Throws CallFailure `failed` if it is not such a number.
 * @param {string} name
 * @param {number} defaultSeconds
 * @returns {number}
 */
export function secondsSetting(name, defaultSeconds) {
  const text = process.env[name] ?? '';
  if (text === '') return defaultSeconds;
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds;
  throw new CallFailure('failed', `${name} is "${text}", and has to be a number of seconds`);
}

/**
 * Returns the path of a system program. Searches PATH if the entry sets it, otherwise the usual folders.
 * Throws CallFailure `failed` if the program is in none of them.
 * @param {string} name
 * @returns {string}
 */
export function findProgram(name) {
  const folders = process.env.PATH ? process.env.PATH.split(delimiter) : FOLDERS;
  const path = folders.map((folder) => join(folder, name)).find(isExecutable);
  if (path !== undefined) return path;
  const advice = 'install it, or add its folder to PATH in the environment of the provider entry';
  throw new CallFailure('failed', `the program ${name} is not in ${folders.join(', ')}: ${advice}`);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// Reads JSON files, and writes them atomically.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

const FILE_MODE = 0o600;

/**
 * Replaces the file at `path`. A reader sees either the old content or the new one.
 * @param {string} path
 * @param {unknown} value
 */
export function writeJson(path, value) {
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: FILE_MODE, flush: true });
  renameSync(draft, path);
}

/**
 * Returns the value in the file at `path`, undefined if the file does not exist. Throws if it is not JSON.
 * @param {string} path
 * @returns {any}
 */
export function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

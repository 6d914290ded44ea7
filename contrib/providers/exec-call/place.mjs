// Identifies the storage of a provider by a marker file. Treeline ignores answers from any other storage, such as the
// empty folder below a disk that is not mounted. See docs/providers.md, Proof of place.
import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CallFailure } from './call-failure.mjs';

/**
 * @typedef {import('./answer-call.mjs').Call} Call
 * @typedef {import('./answer-call.mjs').Handlers} Handlers
 * @typedef {Handlers['check']} Handler
 */

const MARKER = 'place';
const FILE_MODE = 0o600;
const CHARACTERS_MAX = 250;

/**
 * Returns handlers that add the place, which is the content of the marker file, to their answers. A create writes a
 * missing marker. Other calls do so only if the storage has their server: otherwise it may be the wrong storage.
 * If the marker changes during a call, the call ends as `retryable`.
 * @param {{ readonly folder: () => string, readonly hasServer: (call: Call) => boolean }} storage
 * @param {Handlers} handlers
 * @returns {Handlers}
 */
export function withPlace({ folder, hasServer }, handlers) {
  /** @type {(perform: Handler) => Handler} */
  const placed = (perform) => async (call) => {
    const path = folder();
    const place = call.operation === 'create' || hasServer(call) ? markPlace(path) : readPlace(path);
    const answer = await perform(call);
    if (readPlace(path) !== place) {
      throw new CallFailure('retryable', `${path} was marked, mounted or replaced during the call`);
    }
    return place === undefined ? answer : { ...answer, place };
  };
  const { check, create, update, delete: remove } = handlers;
  return { check: placed(check), create: placed(create), update: placed(update), delete: placed(remove) };
}

/**
 * @param {string} folder
 * @returns {string}
 */
function markPlace(folder) {
  const before = readPlace(folder);
  if (before !== undefined) return before;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `${MARKER}.${process.pid}.new`);
  writeFileSync(draft, `${randomUUID()}\n`, { mode: FILE_MODE, flush: true });
  try {
    // If another call has just created the marker, that one counts.
    linkSync(draft, join(folder, MARKER));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const place = readPlace(folder);
  if (place !== undefined) return place;
  throw new CallFailure('failed', `${join(folder, MARKER)} is empty: remove it, or restore its content`);
}

/**
 * @param {string} folder
 * @returns {string | undefined}
 */
function readPlace(folder) {
  try {
    return readFileSync(join(folder, MARKER), 'utf8').trim().slice(0, CHARACTERS_MAX) || undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

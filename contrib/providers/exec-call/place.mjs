// Names the storage of a provider by a marker in it, so that Treeline takes an answer from another one, such as a folder
// whose disk is not mounted, for no answer.
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
 * Returns the handlers with the place in their answers: what the file `place` of the storage holds. It is written by the first
 * create, or where a server of the call is in the storage already; never into one that may be the wrong one. The storage
 * has to be the same before and after the call.
 * @param {{ readonly folder: () => string, readonly holds: (call: Call) => boolean }} storage
 * @param {Handlers} handlers
 * @returns {Handlers}
 */
export function withPlace({ folder, holds }, handlers) {
  /** @type {(perform: Handler) => Handler} */
  const placed = (perform) => async (call) => {
    const path = folder();
    const place = call.operation === 'create' || holds(call) ? markPlace(path) : readPlace(path);
    const answer = await perform(call);
    if (readPlace(path) !== place) {
      throw new CallFailure('retryable', `${path} was marked, mounted or exchanged during the call`);
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
    // Of two calls at once, one has made it.
    linkSync(draft, join(folder, MARKER));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const place = readPlace(folder);
  if (place !== undefined) return place;
  throw new CallFailure('failed', `${join(folder, MARKER)} is empty: remove it, or write the place that it held`);
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

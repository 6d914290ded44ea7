// Reads the call of an exec provider from standard input and writes its answer to standard output: JSON, version 1.
// Knows nothing about what a provider does. See docs/providers.md for the contract.
import { CallFailure } from './call-failure.mjs';

/**
 * @typedef {'check' | 'create' | 'update' | 'delete'} Operation
 * @typedef {string | readonly string[]} PropertyValue
 * @typedef {Readonly<Record<string, PropertyValue>>} Properties
 * @typedef {object} Call
 * @property {Operation} operation
 * @property {string} action equal for repeated calls of one step
 * @property {string} resource the server's name; safe as the name of a file
 * @property {string} kind
 * @property {Properties} properties
 * @property {Readonly<Record<string, unknown>>} record the merged configuration
 * @property {number} deadline milliseconds since 1970
 * @property {string} text the call as it was read, on one line
 * @typedef {object} Answer
 * @property {'done' | 'absent' | 'replace' | 'retryable' | 'failed' | 'lost'} outcome
 * @property {string} [message]
 * @property {Readonly<Record<string, unknown>>} [outputs]
 * @property {Properties} [observed]
 * @property {string} [place] the identity of the provider's storage
 * @typedef {Readonly<Record<Operation, (call: Call) => Promise<Answer>>>} Handlers
 */

const VERSION = 1;
const OPERATIONS = /** @type {const} */ (['check', 'create', 'update', 'delete']);
const INPUT_BYTES_MAX = 16 * 1024 * 1024;
const MESSAGE_CHARACTERS_MAX = 4_000;
/** Treeline's rule for names: such a name is safe as a file name, and never looks like an option. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,249}$/;

/**
 * Reads the one call on standard input, runs the handler of its operation and prints the answer. A CallFailure becomes
 * an answer with its outcome, any other error becomes `retryable`. The exit code is 0: only the answer counts.
 * @param {Handlers} handlers
 * @returns {Promise<void>}
 */
export async function answerCall(handlers) {
  const answer = await performOrFail(handlers);
  const complete = { message: '', outputs: {}, observed: {}, ...answer };
  process.stdout.write(
    `${JSON.stringify({ ...complete, message: complete.message.slice(0, MESSAGE_CHARACTERS_MAX) })}\n`,
  );
}

/**
 * @param {Handlers} handlers
 * @returns {Promise<Answer>}
 */
async function performOrFail(handlers) {
  try {
    const call = parseCall(await readInput());
    return await handlers[call.operation](call);
  } catch (error) {
    if (error instanceof CallFailure) return { outcome: error.outcome, message: error.message };
    return { outcome: 'retryable', message: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Returns the call in `text`. Throws CallFailure `failed` if it is not a call of version 1.
 * @param {string} text
 * @returns {Call}
 */
export function parseCall(text) {
  const value = parseObject(text);
  const { version, operation, action, resource, kind, properties, record, deadline } = value;
  if (version !== VERSION)
    throw invalid(`version is ${JSON.stringify(version)}; this program supports only ${VERSION}`);
  const known = OPERATIONS.find((name) => name === operation);
  if (known === undefined) throw invalid(`operation is ${JSON.stringify(operation)}`);
  if (typeof resource !== 'string' || !NAME.test(resource) || resource.includes('..')) {
    throw invalid(`resource is ${JSON.stringify(resource)}, which is not a server name`);
  }
  const until = typeof deadline === 'string' ? Date.parse(deadline) : Number.NaN;
  if (Number.isNaN(until)) throw invalid(`deadline is ${JSON.stringify(deadline)}, which is not a time`);
  return {
    operation: known,
    action: typeof action === 'string' ? action : '',
    resource,
    kind: typeof kind === 'string' ? kind : '',
    properties: checkProperties(properties),
    record: /** @type {Record<string, unknown>} */ (typeof record === 'object' && record !== null ? record : {}),
    deadline: until,
    text: JSON.stringify(value),
  };
}

/**
 * @param {unknown} value
 * @returns {Properties}
 */
function checkProperties(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('properties is not an object');
  for (const [name, property] of Object.entries(value)) {
    const isList = Array.isArray(property) && property.every((item) => typeof item === 'string');
    if (typeof property !== 'string' && !isList)
      throw invalid(`the property ${name} is neither a string nor a list of strings`);
  }
  return /** @type {Properties} */ (value);
}

/**
 * @param {string} text
 * @returns {Record<string, unknown>}
 */
function parseObject(text) {
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return /** @type {Record<string, unknown>} */ (value);
  }
  throw invalid('it is not a JSON object');
}

/**
 * @param {string} text
 * @returns {unknown}
 */
function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('it is not JSON');
  }
}

/** @returns {Promise<string>} */
async function readInput() {
  /** @type {Buffer[]} */
  const parts = [];
  let size = 0;
  for await (const part of process.stdin) {
    size += part.length;
    if (size > INPUT_BYTES_MAX) throw invalid(`it is longer than ${INPUT_BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** @param {string} reason */
function invalid(reason) {
  return new CallFailure('failed', `the call on standard input is invalid: ${reason}`);
}

// Reads the answer of a program or service: one JSON object, version 1. Checks all of it, because its values reach rows
// and records. docs/providers.md describes it.

import { OBEYED, quote, quoteSome } from '../base/wording.ts';
import type { Answer, AnswerOutcome } from '../model/call-result.ts';
import { emptyMap, isExact, isMap, type Json, type JsonMap } from '../model/json.ts';
import { isWellFormed, recordKeyFault, textLengthFault } from '../model/keys.ts';

/** The largest answer, in bytes. */
export const ANSWER_BYTES_MAX = 1024 * 1024;
/** The largest outputs of a server, in bytes as JSON. They are in every record and in the memory of the controller. */
export const OUTPUTS_BYTES_MAX = 64 * 1024;
/** The largest number of outputs, and of observed properties. */
const ENTRIES_MAX = 1000;
const MESSAGE_LENGTH_MAX = 4096;
const PLACE_LENGTH_MAX = 250;

const OUTCOMES: readonly AnswerOutcome[] = ['done', 'absent', 'replace', 'retryable', 'failed', 'lost'];
const FIELDS: readonly string[] = ['outcome', 'message', 'outputs', 'observed', 'place'];

/** The output is not a valid answer. The message says why. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError';
}

/** Returns the answer in a text. Throws AnswerError unless the text is exactly one valid JSON object. */
export function readAnswer(text: string): Answer {
  const value = parse(text);
  if (isMap(value)) return answerIn(value);
  throw new AnswerError(`the answer is ${quote(text.trim())}, but has to be a JSON object`);
}

/** Returns the answer in a parsed object. Throws AnswerError if it is not valid. */
export function answerIn(value: JsonMap): Answer {
  const unknown = Object.keys(value).filter((field) => !FIELDS.includes(field));
  if (unknown.length > 0) {
    throw new AnswerError(`the answer has unknown fields: ${quoteSome(unknown)}; known are ${FIELDS.join(', ')}`);
  }
  const place = readPlace(value.place);
  return {
    outcome: readOutcome(value.outcome),
    message: readMessage(value.message),
    outputs: readOutputs(value.outputs),
    observed: readEntries('observed', value.observed, { isValue: isPropertyValue, values: PROPERTY_VALUES }),
    ...(place === undefined ? {} : { place }),
  };
}

function parse(text: string): unknown {
  if (text.trim() === '') throw new AnswerError('there is no answer: the output is empty');
  try {
    return JSON.parse(text);
  } catch (error) {
    // The message does not quote the text, because a malformed answer may contain a secret.
    const shown = text.trim().startsWith('{') ? `${text.length} characters that begin with "{"` : quote(text.trim());
    throw new AnswerError(`the answer is not one JSON object: ${shown}`, { cause: error });
  }
}

function readOutcome(value: Json | undefined): AnswerOutcome {
  const outcome = OUTCOMES.find((each) => each === value);
  if (outcome !== undefined) return outcome;
  const shown = value === undefined ? 'has no "outcome"' : `has the outcome ${quote(value)}`;
  throw new AnswerError(`the answer ${shown}; it has to be one of ${OUTCOMES.join(', ')}`);
}

function readMessage(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new AnswerError(`the "message" is ${quote(value)}, but has to be a text`);
  return plainText(value, MESSAGE_LENGTH_MAX);
}

function readPlace(value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  const isPlace = typeof value === 'string' && value.trim() !== '' && value.length <= PLACE_LENGTH_MAX;
  if (isPlace && isWellFormed(value)) return value;
  throw new AnswerError(`the "place" is ${quote(value)}, but has to be a text of 1 to ${PLACE_LENGTH_MAX} characters`);
}

function readOutputs(value: Json | undefined): JsonMap {
  const outputs = readEntries('outputs', value, { isValue: isRecordValue, values: OUTPUT_VALUES });
  const bytes = Buffer.byteLength(JSON.stringify(outputs));
  if (bytes <= OUTPUTS_BYTES_MAX) return outputs;
  throw new AnswerError(
    `"outputs" takes ${bytes} bytes as JSON, and ${OUTPUTS_BYTES_MAX} are kept of a server: report where ` +
      'the rest is found, such as a path or a URL',
  );
}

interface EntryRule {
  readonly isValue: (value: Json) => boolean;
  readonly values: string;
}

const OUTPUT_VALUES = 'a text, a number (an integer beyond 2^53 as a text), true, false or a list of texts';
const PROPERTY_VALUES = 'a text or a list of texts';

function readEntries(field: string, value: Json | undefined, { isValue, values }: EntryRule): JsonMap {
  const entries = emptyMap();
  if (value === undefined || value === null) return entries;
  if (!isMap(value)) throw new AnswerError(`"${field}" is ${quote(value)}, but has to be a JSON object`);
  const pairs = Object.entries(value);
  if (pairs.length > ENTRIES_MAX) {
    throw new AnswerError(`"${field}" has ${pairs.length} entries, and ${ENTRIES_MAX} are allowed`);
  }
  for (const [key, each] of pairs) {
    const place = `the key ${quote(key)} of "${field}"`;
    const fault = recordKeyFault(key);
    if (fault !== undefined) throw new AnswerError(`${place} ${fault}`);
    // The message does not quote maps and lists, because they may contain a secret.
    const shown = typeof each === 'object' && each !== null ? (Array.isArray(each) ? 'a list' : 'a map') : quote(each);
    if (!isValue(each)) throw new AnswerError(`${place} has the value ${shown}; it has to be ${values}`);
    const wrong = [each]
      .flat()
      .map(textFault)
      .find((found) => found !== undefined);
    if (wrong !== undefined) throw new AnswerError(`a value of ${place} ${wrong}`);
    entries[key] = each;
  }
  return entries;
}

/** Applies the rules for texts in files, because a reported value may be written into a file. */
function textFault(value: Json): string | undefined {
  if (typeof value !== 'string') return undefined;
  return textLengthFault(value) ?? (isWellFormed(value) ? undefined : 'contains NUL or half of a surrogate pair');
}

function isPropertyValue(value: Json): boolean {
  return typeof value === 'string' || (Array.isArray(value) && value.every((item) => typeof item === 'string'));
}

function isRecordValue(value: Json): boolean {
  return isPropertyValue(value) || typeof value === 'boolean' || (typeof value === 'number' && isExact(value));
}

/**
 * Returns a text without terminal control characters except line feeds, halves of surrogate pairs, and surrounding
 * space. A long text is truncated.
 */
export function plainText(text: string, lengthMax: number): string {
  const plain = text.replaceAll(/\r\n?/g, '\n').replaceAll('\t', ' ').replaceAll(OBEYED, ' ').trim();
  return (plain.length <= lengthMax ? plain : `${plain.slice(0, lengthMax)}…`).toWellFormed();
}

// Defines the faults of YAML that a parser accepts and Treeline refuses.

import { quote } from '../base/wording.ts';
import type { Fault } from '../model/entry.ts';
import { isExact } from '../model/json.ts';
import { isWellFormed, keyLengthFault, textLengthFault } from '../model/keys.ts';

/** The fault of a file without a value. */
export const EMPTY_FILE: Fault = {
  code: 'file_empty',
  message: 'the file is empty',
  hint: 'write the object, or remove the file',
};

/** The fault of a file with two documents. */
export const SECOND_DOCUMENT: Fault = {
  code: 'yaml_documents',
  message: 'a second document begins here, but a file contains one object',
  hint: 'put it into a file of its own',
};

/** Returns the fault of a file with more than `max` keys and values. */
export function tooManyValues(max: number): Fault {
  return {
    code: 'yaml_values',
    message: `the file contains more than ${max.toLocaleString('en')} keys and values`,
    hint: 'split it',
  };
}

/** Enough digits to recognise a number that JSON cannot represent. */
const DIGITS_SHOWN = 40;

/** `written` includes its sign: `&name` or `*name`. */
export function anchorFault(written: string): Fault {
  const isAlias = written.startsWith('*');
  return {
    code: 'yaml_anchor',
    message: `${isAlias ? 'the alias' : 'the anchor'} ${quote(written)} is not supported`,
    hint: isAlias
      ? `write the value out; a text that begins with "*" needs quotes: ${quote(written)}`
      : `leave it out; a text that begins with "&" needs quotes: ${quote(written)}`,
  };
}

/** `written` as in the file: `!!str`. */
export function tagFault(written: string): Fault {
  return {
    code: 'yaml_tag',
    message: `the tag ${quote(written)} is not supported`,
    hint: written === '!!str' ? 'write the value in quotes instead' : 'leave it out, or put the whole text in quotes',
  };
}

/** The fault of a map or list in place of a key; `opening` is its first character. */
export function complexKeyFault(opening: string): Fault {
  return {
    code: 'yaml_key',
    message: 'a key has to be a plain text, not a map or a list',
    hint: opening === '{' || opening === '[' ? `a text that begins with "${opening}" needs quotes` : null,
    part: 'key',
  };
}

/** Returns the fault of a key, or undefined. `isPlain`: the key has no quotes. */
export function yamlKeyFault(key: string, isPlain: boolean): Fault | undefined {
  if (key === '<<' && isPlain) {
    return {
      code: 'yaml_merge_key',
      message: 'the merge key "<<" is not supported',
      hint: 'write the fields out; shared configuration belongs into a more general layer',
      part: 'key',
    };
  }
  if (key === '') {
    return { code: 'yaml_key', message: 'a key is empty', hint: 'write a name before the colon', part: 'key' };
  }
  if (key === '__proto__') {
    return { code: 'yaml_key', message: 'the key "__proto__" is reserved', hint: 'use another name', part: 'key' };
  }
  const length = keyLengthFault(key);
  if (length === undefined) return stringFault(key);
  return { code: 'bad_key', message: `the key ${quote(key)} ${length}`, hint: 'choose a shorter name', part: 'key' };
}

/** The fault of a repeated key. */
export function duplicateKeyFault(key: string, firstLine: number): Fault {
  return {
    code: 'duplicate_key',
    message: `the key ${quote(key)} is repeated; it was first set in line ${firstLine}`,
    hint: 'remove one of the two',
    part: 'key',
  };
}

/**
 * Returns the fault of a number without quotes: an error if it cannot be kept exactly, a warning if its spelling is
 * lost. Undefined if the number has no fault.
 */
export function numberFault(written: string, value: number): Fault | undefined {
  const isLong = written.length > DIGITS_SHOWN;
  const hint = isLong
    ? 'to keep it as written, put it in quotes'
    : `to keep it as written, put it in quotes: ${quote(written)}`;
  if (!Number.isFinite(value)) {
    return { code: 'unsafe_number', message: `${quote(written)} is not a number that JSON can represent`, hint };
  }
  if (!isExact(value)) {
    return {
      code: 'unsafe_number',
      message: `the number ${written.slice(0, DIGITS_SHOWN)} is too large to be kept exactly`,
      hint,
    };
  }
  if (String(value) === written) return undefined;
  return {
    code: 'number_spelling',
    severity: 'warning',
    message: `${written.slice(0, DIGITS_SHOWN)}${isLong ? '…' : ''} is read as the number ${String(value)}`,
    hint,
  };
}

/** Returns the fault of a text that cannot be stored or sent, or undefined. */
export function stringFault(text: string): Fault | undefined {
  const length = textLengthFault(text);
  if (length !== undefined) {
    // The message does not quote the text: it may be a secret.
    const hint = 'keep the text elsewhere, and write here where it is';
    return { code: 'value_too_large', message: `this text ${length}`, hint };
  }
  if (isWellFormed(text)) return undefined;
  return {
    code: 'yaml_character',
    message: 'the text contains an escape that is not a character: NUL or half of a surrogate pair',
    hint: 'remove the escape',
  };
}

// Defines the faults for the parts of YAML that Treeline refuses although a parser accepts them.

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
  message: 'a second document begins here, but a file holds one object',
  hint: 'put it into a file of its own',
};

/** Returns the fault of a file that holds more keys and values than are read. */
export function tooManyValues(max: number): Fault {
  return {
    code: 'yaml_values',
    message: `the file holds more than ${max.toLocaleString('en')} keys and values`,
    hint: 'split it',
  };
}

/** Enough to recognise a number that nothing here can hold. */
const DIGITS_SHOWN = 40;

/** `written` with its sign: `&name` or `*name`. */
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

/** The fault of a map or list that stands where a key should; `opening` is its first character. */
export function complexKeyFault(opening: string): Fault {
  return {
    code: 'yaml_key',
    message: 'a key has to be a plain text, not a map or a list',
    hint: opening === '{' || opening === '[' ? `a text that begins with "${opening}" needs quotes` : null,
    part: 'key',
  };
}

/** Returns what makes a text unfit as a key, or undefined. `isPlain`: it stands without quotes. */
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

/** The fault of a key that stands in a map for the second time. */
export function duplicateKeyFault(key: string, firstLine: number): Fault {
  return {
    code: 'duplicate_key',
    message: `the key ${quote(key)} stands here again; it was first set in line ${firstLine}`,
    hint: 'remove one of the two',
    part: 'key',
  };
}

/**
 * Returns what is wrong with a number that was written without quotes: an error where it cannot be kept exactly,
 * a warning where reading it loses how it was written. Undefined: nothing.
 */
export function numberFault(written: string, value: number): Fault | undefined {
  const isLong = written.length > DIGITS_SHOWN;
  const hint = isLong
    ? 'to keep it as written, put it in quotes'
    : `to keep it as written, put it in quotes: ${quote(written)}`;
  if (!Number.isFinite(value)) {
    return { code: 'unsafe_number', message: `${quote(written)} is no number that JSON can hold`, hint };
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

/** Returns what makes a text unfit to be stored and sent anywhere, or undefined. */
export function stringFault(text: string): Fault | undefined {
  const length = textLengthFault(text);
  if (length !== undefined) {
    // Not quoted: the text may be a secret.
    const hint = 'keep the text elsewhere, and write here where it is';
    return { code: 'value_too_large', message: `this text ${length}`, hint };
  }
  if (isWellFormed(text)) return undefined;
  return {
    code: 'yaml_character',
    message: 'the text holds an escape that is no character: NUL or half of a surrogate pair',
    hint: 'remove the escape',
  };
}

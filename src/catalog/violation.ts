// Describes how a value violates its schema: the value, the expected value, and how to correct it.

import { didYouMean, quote, withForeignCharacter } from '../base/wording.ts';
import { below, type Fault, lastStep } from '../model/entry.ts';
import { isMap } from '../model/json.ts';

/** One broken rule of a schema. */
export interface Violation {
  /** The keyword of JSON Schema that the value violates. */
  readonly keyword: string;
  /** Points to the value; for a missing, unknown or ill-named field, to the map around it. */
  readonly pointer: string;
  /** The field that is missing, unknown or ill-named. */
  readonly field: string | undefined;
  /** The field and value under which the rule applies: `provider: exec`; undefined: always. */
  readonly condition: string | undefined;
  /** The schema that contains the keyword; for `propertyNames`, the schema of the names. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
  /** The validator's own words, as the end of a sentence: `must be >= 0`. */
  readonly rule: string;
}

interface Placed {
  readonly pointer: string;
  readonly fault: Fault;
}

type WrittenAt = (pointer: string) => string | null;

/** Returns the place and the fault. `writtenAt` returns a plain scalar as it is in the file. */
export function explainViolation(violation: Violation, writtenAt: WrittenAt): Placed {
  const { keyword, pointer, field = '', schema } = violation;
  if (keyword === 'required') return { pointer, fault: missingField(violation, field) };
  if (keyword === 'additionalProperties') {
    return { pointer: below(pointer, field), fault: unknownField(field, schema) };
  }
  if (keyword === 'false schema') return { pointer, fault: uselessField(violation) };
  if (keyword === 'propertyNames') return { pointer: below(pointer, field), fault: badKey(field, schema) };
  return { pointer, fault: wrongValue(violation, writtenAt(pointer)) };
}

/** Returns true if a field is missing because the unknown field next to it is a misspelling of it. */
export function isMisspelt(missing: Violation, { keyword, pointer, field = '' }: Violation): boolean {
  if (missing.keyword !== 'required' || keyword !== 'additionalProperties' || missing.pointer !== pointer) return false;
  return didYouMean(field, [missing.field ?? '']) !== null;
}

function missingField({ pointer, condition, schema, value }: Violation, field: string): Fault {
  const choices = choicesOf(isMap(schema.properties) ? schema.properties[field] : undefined);
  return {
    code: 'missing_field',
    message: `${labelOf(pointer)} lacks the field "${field}"${condition ? `, needed with "${condition}"` : ''}`,
    hint: isTemplate(field, value)
      ? 'a file with "resources" is a template: move it into stacks/templates/'
      : `add "${field}:"${choices.length === 0 ? '' : `, one of ${quotedList(choices)}`}${orReplace(condition)}`,
  };
}

/** Only an instance needs `stackTemplate`, and only a template has a map `resources`. */
function isTemplate(missing: string, value: unknown): boolean {
  return missing === 'stackTemplate' && isMap(value) && isMap(value.resources);
}

function unknownField(field: string, schema: Violation['schema']): Fault {
  const known = fieldsOf(schema);
  return {
    code: 'unknown_field',
    message: `the field ${quote(field)}${withForeignCharacter(field)} is not known here`,
    hint: didYouMean(field, known) ?? unknownFieldHint(field, known),
    part: 'key',
  };
}

/** A schema has `false` for a field that excludes another field. */
function uselessField({ pointer, condition }: Violation): Fault {
  const message = `${labelOf(pointer)} has no effect ${condition ? `with "${condition}"` : 'here'}`;
  return { code: 'no_effect', message, hint: `leave it out${orReplace(condition)}`, part: 'key' };
}

function orReplace(condition: string | undefined): string {
  return condition === undefined ? '' : `, or replace "${condition}"`;
}

function fieldsOf({ properties }: Violation['schema']): readonly string[] {
  return isMap(properties) ? Object.keys(properties) : [];
}

function unknownFieldHint(field: string, known: readonly string[]): string {
  if (field === 'stackTemplate') return 'a file with "stackTemplate" is an instance: move it into stacks/instances/';
  return known.length === 0 ? 'remove it' : `known are: ${known.join(', ')}`;
}

function badKey(key: string, schema: Violation['schema']): Fault {
  const rule = typeof schema.errorMessage === 'string' ? `: ${schema.errorMessage}` : '';
  return {
    code: 'bad_key',
    message: `the key ${quote(key)}${withForeignCharacter(key)} cannot be used${rule}`,
    hint: 'choose another name',
    part: 'key',
  };
}

function wrongValue(violation: Violation, written: string | null): Fault {
  const { pointer, schema, value, keyword } = violation;
  const named = NAMED_RULES.has(keyword) ? `has to be ${expected(schema)}` : violation.rule;
  const rule = typeof schema.errorMessage === 'string' ? schema.errorMessage : named;
  return {
    code: keyword === 'type' ? 'wrong_type' : 'wrong_value',
    message: `${labelOf(pointer)} is ${described(value, written)}, but ${rule}`,
    hint:
      pointer !== '' ? hintFor(schema, value, written) : typeof value === 'string' ? 'write it as "key: value"' : null,
  };
}

/** Rules whose message says what the value has to be. */
const NAMED_RULES: ReadonlySet<string> = new Set(['type', 'enum', 'const', 'minLength']);

function expected(schema: Violation['schema']): string {
  const choices = choicesOf(schema);
  if (choices.length > 1) return `one of ${quotedList(choices)}`;
  if (choices.length === 1) return quotedList(choices);
  if (schema.minLength === 1) return 'a text that is not empty';
  return typesOf(schema)
    .map((type) => TYPE_WORDS[type] ?? type)
    .join(' or ');
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
  array: 'a list',
  object: 'a map',
};

/** A number, boolean or null in place of a text was most likely meant as text. */
function hintFor(schema: Violation['schema'], value: unknown, written: string | null): string | null {
  if (typeof value === 'string') return booleanHint(schema, value) ?? didYouMean(value, choicesOf(schema));
  const isScalar = value === null || typeof value !== 'object';
  if (!isScalar || !takesAnyText(schema)) return emptyForm(schema, value);
  return written === null ? 'for an empty text write ""' : `put it in quotes: ${quote(written)}`;
}

const TRUE_WORDS: ReadonlySet<string> = new Set(['true', 'yes', 'on', 'y', '1']);
const FALSE_WORDS: ReadonlySet<string> = new Set(['false', 'no', 'off', 'n', '0']);

/** Other YAML readers take `yes` for true, and a quoted "true" is a text for all of them. */
function booleanHint(schema: Violation['schema'], text: string): string | null {
  if (typesOf(schema).join() !== 'boolean') return null;
  const word = text.toLowerCase();
  if (TRUE_WORDS.has(word)) return 'write true, without quotes';
  return FALSE_WORDS.has(word) ? 'write false, without quotes' : null;
}

function takesAnyText(schema: Violation['schema']): boolean {
  return typesOf(schema).includes('string') && choicesOf(schema).length === 0 && schema.maxLength !== 0;
}

function emptyForm(schema: Violation['schema'], value: unknown): string | null {
  if (value !== null) return null;
  if (typesOf(schema).includes('object')) return 'leave the field out, or write {}';
  return typesOf(schema).includes('array') ? 'leave the field out, or write []' : 'leave the field out';
}

function described(value: unknown, written: string | null): string {
  if (value === null) return written === null ? 'empty' : written;
  if (typeof value === 'string') return value === '' ? 'an empty text' : `the text ${quote(value)}`;
  if (typeof value === 'number') return `the number ${written}`;
  if (typeof value === 'boolean') return String(value);
  return Array.isArray(value) ? 'a list' : 'a map';
}

/** Returns the name of a value in a message: its field, or its position in a list. */
function labelOf(pointer: string): string {
  if (pointer === '') return 'the file';
  const [last = '', list = ''] = pointer.split('/').reverse().map(lastStep);
  if (!/^\d+$/.test(last)) return quote(last);
  return `item ${Number(last) + 1}${list === '' ? '' : ` of ${quote(list)}`}`;
}

function choicesOf(schema: unknown): string[] {
  if (!isMap(schema)) return [];
  const choices = Array.isArray(schema.enum) ? schema.enum : [schema.const];
  return choices.filter((choice) => typeof choice === 'string');
}

function typesOf(schema: Violation['schema']): string[] {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.filter((type) => typeof type === 'string');
}

function quotedList(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ');
}

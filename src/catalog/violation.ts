// Describes how a value violates its schema: the value, the expected one, and what to write instead.

import { didYouMean, quote, withForeignCharacter } from '../base/wording.ts';
import { below, type Fault } from '../model/entry.ts';
import { isMap } from '../model/json.ts';

/** One broken rule of a schema. */
export interface Violation {
  /** The keyword of JSON Schema that is broken. */
  readonly keyword: string;
  /** Of the value that breaks it; for a field that is missing, unknown or ill-named, of the map around it. */
  readonly pointer: string;
  /** The field that is missing, unknown or ill-named. */
  readonly field: string | undefined;
  /** The schema that holds the keyword; for `propertyNames`, the schema of the names. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Those of the file's whole schema, to which a `$ref` leads. */
  readonly definitions: Readonly<Record<string, unknown>>;
  readonly value: unknown;
  /** The validator's own words, as the end of a sentence: `must be >= 0`. */
  readonly rule: string;
}

interface Placed {
  readonly pointer: string;
  readonly fault: Fault;
}

type WrittenAt = (pointer: string) => string | null;

/** Returns where the mistake stands and what it is. `writtenAt` gives a plain scalar as it is in the file. */
export function explainViolation(violation: Violation, writtenAt: WrittenAt): Placed {
  const { keyword, pointer, field = '', schema } = violation;
  if (keyword === 'required') return { pointer, fault: missingField(violation, field) };
  if (keyword === 'additionalProperties') {
    return { pointer: below(pointer, field), fault: unknownField(field, violation) };
  }
  if (keyword === 'propertyNames') return { pointer: below(pointer, field), fault: badKey(field, schema) };
  return { pointer, fault: wrongValue(violation, writtenAt(pointer)) };
}

function missingField({ pointer, schema, value }: Violation, field: string): Fault {
  const choices = choicesOf(isMap(schema.properties) ? schema.properties[field] : undefined);
  return {
    code: 'missing_field',
    message: `${labelOf(pointer)} lacks the field "${field}"`,
    hint: isTemplate(field, value)
      ? 'a file with "resources" is a template: move it into stacks/templates/'
      : `add "${field}:"${choices.length === 0 ? '' : `, one of ${quotedList(choices)}`}`,
  };
}

/** What only an instance lacks, in a map that only a template has. */
function isTemplate(missing: string, value: unknown): boolean {
  return missing === 'stackTemplate' && isMap(value) && isMap(value.resources);
}

function unknownField(field: string, violation: Violation): Fault {
  const known = fieldsOf(violation.schema);
  const above = fieldAbove(field, violation);
  return {
    code: 'unknown_field',
    message: `the field ${quote(field)}${withForeignCharacter(field)} is not known here`,
    hint:
      above === undefined
        ? (didYouMean(field, known) ?? unknownFieldHint(field, known))
        : `${isMap(violation.value) && Object.hasOwn(violation.value, above) ? 'indent' : 'write'} it below "${above}"`,
    part: 'key',
  };
}

/**
 * Returns the known field to which an unknown one belongs: one that knows it, best the last one before it, or else an empty one
 * before it that takes any. Its indentation was lost.
 */
function fieldAbove(field: string, { schema, definitions, value }: Violation): string | undefined {
  const written = isMap(value) ? Object.keys(value) : [];
  const before = written.slice(0, Math.max(0, written.indexOf(field))).toReversed();
  const knows = (name: string): boolean =>
    findSchemas(name, schema, definitions).some(
      (part) => isMap(part.properties) && Object.hasOwn(part.properties, field),
    );
  const knowing = fieldsOf(schema).filter(knows);
  const above = before.find(knows) ?? (knowing.length === 1 ? knowing[0] : undefined);
  if (above !== undefined || didYouMean(field, fieldsOf(schema)) !== null) return above;
  const takesAny = (part: Violation['schema']): boolean =>
    typesOf(part).includes('object') && part.additionalProperties !== false;
  return before.find(
    (name) => isMap(value) && value[name] === null && findSchemas(name, schema, definitions).some(takesAny),
  );
}

function fieldsOf({ properties }: Violation['schema']): readonly string[] {
  return isMap(properties) ? Object.keys(properties) : [];
}

/** Returns the schemas of a field: its own, and those for one kind of the map around it. */
function findSchemas(
  name: string,
  schema: Violation['schema'],
  definitions: Violation['definitions'],
): Violation['schema'][] {
  const kinds = Array.isArray(schema.allOf) ? schema.allOf.map((kind) => (isMap(kind) ? kind.then : undefined)) : [];
  return [schema, ...kinds].flatMap((one) => {
    const part = isMap(one) && isMap(one.properties) ? one.properties[name] : undefined;
    const { $ref } = isMap(part) ? part : {};
    const found = typeof $ref === 'string' ? definitions[$ref.slice('#/definitions/'.length)] : part;
    return isMap(found) ? [found] : [];
  });
}

function unknownFieldHint(field: string, known: readonly string[]): string {
  if (field === 'stackTemplate') return 'a file with "stackTemplate" is an instance: move it into stacks/instances/';
  return known.length === 0 ? 'remove it' : `known are: ${known.join(', ')}`;
}

/**
 * Returns the violations without the fields that are missing because they are misspelt, or empty because what they hold is not
 * indented: the field that is unknown is told with its right name or place.
 */
export function withoutMisspelt(violations: readonly Violation[]): readonly Violation[] {
  const unknown = violations.filter(({ keyword }) => keyword === 'additionalProperties');
  const emptied = new Set(unknown.map((one) => below(one.pointer, fieldAbove(one.field ?? '', one) ?? '')));
  return violations.filter(
    ({ keyword, pointer, field = '', value }) =>
      !(keyword === 'type' && value === null && emptied.has(pointer)) &&
      (keyword !== 'required' ||
        !unknown.some((other) => other.pointer === pointer && didYouMean(other.field ?? '', [field]) !== null)),
  );
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
    hint: pointer === '' ? pairHint(value) : (hintFor(schema, value, written) ?? flatHint(violation)),
  };
}

/** Rules that can be said as what the value has to be. */
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

/** A number, boolean or null where a text may stand was most likely meant as that text. */
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

/** A file that is one text was most likely meant as a key and its value. */
function pairHint(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const [, key, rest] = /^([\w.-]{1,80}):(\S.{0,80})$/.exec(value) ?? [];
  return key === undefined ? 'write it as "key: value"' : `a colon needs a space behind it: write ${key}: ${rest}`;
}

/** Configuration is flat: the values of a map become keys. A list of one text was most likely meant as that text. */
function flatHint({ pointer, schema, value }: Violation): string | null {
  if (!takesAnyText(schema)) return null;
  if (Array.isArray(value)) {
    const [only] = value;
    return value.length === 1 && typeof only === 'string' ? `write ${quote(only)}` : null;
  }
  const [key] = isMap(value) ? Object.keys(value) : [];
  const name = unescapeStep(pointer.slice(pointer.lastIndexOf('/') + 1));
  if (pointer === `/parameters/${name}` && isMap(value) && typeof value.default === 'string')
    return `write its default alone: ${name}: ${quote(value.default)}`;
  return key === undefined ? null : `give each of its values a key of its own, such as ${quote(`${name}_${key}`)}`;
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

/** Names a value for a person: its field, or its position in a list. */
function labelOf(pointer: string): string {
  if (pointer === '') return 'the file';
  const [last = '', list = ''] = pointer.split('/').reverse().map(unescapeStep);
  if (!/^\d+$/.test(last)) return quote(last);
  return `item ${Number(last) + 1}${list === '' ? '' : ` of ${quote(list)}`}`;
}

function unescapeStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
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

// Checks values against JSON Schemas (schemas/, draft-07). Only this file uses ajv; violation.ts turns ajv's errors
// into messages.

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import action from '../../schemas/action.schema.json' with { type: 'json' };
import client from '../../schemas/client.schema.json' with { type: 'json' };
import clientcert from '../../schemas/clientcert.schema.json' with { type: 'json' };
import common from '../../schemas/common.schema.json' with { type: 'json' };
import configuration from '../../schemas/configuration.schema.json' with { type: 'json' };
import environment from '../../schemas/environment.schema.json' with { type: 'json' };
import hierarchy from '../../schemas/hierarchy.schema.json' with { type: 'json' };
import location from '../../schemas/location.schema.json' with { type: 'json' };
import role from '../../schemas/role.schema.json' with { type: 'json' };
import shape from '../../schemas/shape.schema.json' with { type: 'json' };
import stackInstance from '../../schemas/stack-instance.schema.json' with { type: 'json' };
import stackSnapshot from '../../schemas/stack-snapshot.schema.json' with { type: 'json' };
import stackTemplate from '../../schemas/stack-template.schema.json' with { type: 'json' };
import tree from '../../schemas/tree.schema.json' with { type: 'json' };
import zone from '../../schemas/zone.schema.json' with { type: 'json' };
import { below, type Fault, problemFrom } from '../model/entry.ts';
import { isMap, type Json, type JsonMap } from '../model/json.ts';
import type { Problem } from '../model/problem.ts';
import type { FileType } from './catalog.ts';
import { explainViolation, isMisspelt, type Violation } from './violation.ts';
import type { YamlDocument } from './yaml.ts';

const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  // A list of types describes a value of several types, and gives fewer errors than "anyOf".
  allowUnionTypes: true,
  strictTypes: false,
  keywords: ['errorMessage', 'doNotSuggest', 'path'],
  // Validating the schemas and optimizing their code would take two thirds of the time. A test validates them.
  validateSchema: false,
  code: { optimize: false },
});

/** The schema of each type of file, from schemas/. */
export const SCHEMAS: Readonly<Record<FileType, object>> = {
  action,
  client,
  clientcert,
  common,
  configuration,
  environment,
  hierarchy,
  location,
  role,
  shape,
  'stack-instance': stackInstance,
  'stack-snapshot': stackSnapshot,
  'stack-template': stackTemplate,
  tree,
  zone,
};

/** Returns one problem for each mistake in a document; empty if the document was unreadable. */
type SchemaCheck = (file: string, document: YamlDocument) => readonly Problem[];

/**
 * Returns the check of a schema, which is compiled at its first use. In addition to draft-07, a schema may contain
 * `errorMessage`: what a value, or the keys of a map, must be, as the end of a sentence after "… but ".
 */
export function compileSchema(schema: object): SchemaCheck {
  let validate: ValidateFunction | undefined;
  return (file, document) => {
    if (document.value === undefined) return [];
    validate ??= ajv.compile(schema);
    return findViolations(validate, document.value).map((violation) => problemOf(violation, file, document));
  };
}

/** The most violations that are reported for one file, which can have 50,000. */
const VIOLATIONS_MAX = 1000;

const validators = new Map<FileType, ValidateFunction>();

/** Compiling takes most of the time, so each schema is compiled once, and only if a file has its type. */
function validatorOf(type: FileType): ValidateFunction {
  const validate = validators.get(type) ?? ajv.compile(SCHEMAS[type]);
  validators.set(type, validate);
  return validate;
}

/** Checks a file of the layout against the schema of its type. */
export function checkSchema(type: FileType, file: string, document: YamlDocument): readonly Problem[] {
  if (document.value === undefined) return [];
  return findViolations(validatorOf(type), document.value).map((violation) => problemOf(violation, file, document));
}

/** A mistake in a value; `missing`: the pointer of a field that is missing. */
export interface ShapeFault {
  readonly pointer: string;
  readonly missing: string | undefined;
  readonly value: unknown;
  readonly fault: Fault;
}

/**
 * Checks a value that is not the content of one file against the schema of a type. Returns one mistake for each place.
 */
export function checkValue(type: FileType, whole: Json): readonly ShapeFault[] {
  return findViolations(validatorOf(type), whole).map((violation) => {
    const { keyword, field, pointer, value } = violation;
    const missing = keyword === 'required' && field !== undefined ? below(pointer, field) : undefined;
    const written = typeof value === 'object' ? null : String(value);
    return { ...explainViolation(violation, () => written), missing, value };
  });
}

function findViolations(validate: ValidateFunction, value: unknown): readonly Violation[] {
  if (validate(value)) return [];
  const violations = new Map<string, Violation>();
  const errors = validate.errors ?? [];
  const conditions = conditionsIn(errors);
  for (const error of errors) {
    // "if" only repeats the error of its branch, and errors inside "propertyNames" repeat that keyword's own error.
    if (error.keyword === 'if' || error.propertyName !== undefined) continue;
    // check-object.ts refuses these fields with its own messages; "doNotSuggest" is for editors.
    if (error.parentSchema?.doNotSuggest === true) continue;
    const violation = describeViolation(error, conditions);
    const place = `${violation.pointer} ${violation.field ?? ''}`;
    if (!violations.has(place)) violations.set(place, violation);
    if (violations.size >= VIOLATIONS_MAX) break;
  }
  const found = [...violations.values()];
  return found.filter((one) => !found.some((other) => isMisspelt(one, other)));
}

/** A place in the branch of an `if` that requires or refuses a field. */
const BRANCH = /then\/(?:required|properties\/[^/]+\/false schema)$/;

/** Returns the conditions that are met, such as `provider: exec`, by the place of their `if` in the schema. */
function conditionsIn(errors: readonly ErrorObject[]): ReadonlyMap<string, string> {
  const failed = errors.filter(({ keyword }) => keyword === 'if');
  const places = failed.flatMap(({ schemaPath, parentSchema }) =>
    Object.entries<JsonMap>(parentSchema?.if.properties ?? {}).map(
      ([field, rule]) => [schemaPath, `${field}: ${rule.const}`] as const,
    ),
  );
  return new Map(places);
}

function describeViolation(error: ErrorObject, conditions: ReadonlyMap<string, string>): Violation {
  const { missingProperty, additionalProperty, propertyName } = error.params;
  const field: unknown = missingProperty ?? additionalProperty ?? propertyName;
  const schema = error.keyword === 'propertyNames' ? error.schema : error.parentSchema;
  return {
    keyword: error.keyword,
    pointer: error.instancePath,
    field: typeof field === 'string' ? field : undefined,
    condition: conditions.get(error.schemaPath.replace(BRANCH, 'if')),
    schema: isMap(schema) ? schema : {},
    value: error.data,
    rule: error.message ?? 'does not fit',
  };
}

function problemOf(violation: Violation, file: string, document: YamlDocument): Problem {
  const { pointer, fault } = explainViolation(violation, document.writtenAt);
  return problemFrom(fault, { ...document.locate(pointer, fault.part), file, pointer });
}

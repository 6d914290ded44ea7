// Writes docs/rest-reference.md from schemas/api.json: `npm run docs:rest`, after a change of that file. A test fails
// if the document is not current.
import { writeFileSync } from 'node:fs';
import api from '../schemas/api.json' with { type: 'json' };
import { rolesWith } from '../src/api/authorize.ts';
import { isMap, type JsonMap } from '../src/model/json.ts';
import { ROLES } from '../src/model/names.ts';

interface Operation {
  readonly kind: string;
  readonly summary: string;
  readonly description?: string;
  readonly rights?: readonly string[];
  readonly body?: string;
  readonly parameters?: readonly string[];
  readonly answers?: Readonly<Record<string, string | null>>;
  readonly errors?: readonly number[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
}

const OPERATIONS: Readonly<Record<string, Operation>> = api.operations;
const PARAMETERS: Readonly<Record<string, Parameter>> = api.parameters as unknown as Readonly<
  Record<string, Parameter>
>;
const SCHEMAS: Readonly<Record<string, unknown>> = api.schemas;

const INTRO = `<!-- Written by "npm run docs:rest" from schemas/api.json. Change that file, not this one. -->

# REST reference

Every route, parameter and body. [rest.md](rest.md) is the guide, [concepts.md](concepts.md) explains states, types and roles.

- Every route may answer ${[...api.errors, 404].toSorted((a, b) => a - b).join(', ')}. Writes to \`/stacks\`, \`/types\`, \`/clients\` and \`/tree\` may also answer ${besides404(api.kinds.write.errors)}; other requests with a body 415.
- Reads take \`If-None-Match\` and \`X-Treeline-Min-Commit\`. Writes take \`If-Match\`, \`If-None-Match\` and \`dry_run\`.
- A field marked \`?\` may be omitted. A route without *Roles* is open to every registered client.
- A *typed object* is a file below \`types/\` as JSON; its further fields are configuration keys.
`;

/** Returns docs/rest-reference.md. */
export function renderRest(): string {
  const groups = Map.groupBy(Object.entries(OPERATIONS), ([route]) => /(?<= \/)\w*/.exec(route)?.[0] ?? '');
  const sections = [...groups].flatMap(([group, operations]) => [
    `## /${group}`,
    ...operations.map(([route, operation]) => renderOperation(route, operation)),
  ]);
  const bodies = Object.entries(SCHEMAS).flatMap(([name, schema]) => renderSchema(name, schema));
  return `${[INTRO.trimEnd(), ...sections, '## Bodies', ...bodies].join('\n\n')}\n`;
}

function renderOperation(route: string, operation: Operation): string {
  const { summary, description, rights, body, parameters = [], answers = {}, errors = [] } = operation;
  const words = description === undefined ? `${summary}.` : `${summary}. ${description}`;
  const answered = Object.entries(answers).map(
    ([status, content]) => `${status} ${content === null ? '' : link(content)}`,
  );
  const facts = [
    ...(rights === undefined ? [] : [`Roles: ${rolesOf(rights)}`]),
    ...(body === undefined ? [] : [`Body: ${link(body)}`]),
    ...(answered.length === 0 ? [] : [`Answer: ${answered.join(', ')}`]),
    ...(besides404(errors) === '' ? [] : [`Errors: ${besides404(errors)}`]),
  ];
  const listed = parameters.map((name) => PARAMETERS[name]).filter((one) => one !== undefined);
  const lines = listed.map(({ name, in: place, description: means }) =>
    place === 'header' ? `- header \`${name}\`: ${means}` : `- \`?${name}\`: ${means}`,
  );
  return [`### ${route}`, words, ...(lines.length === 0 ? [] : [lines.join('\n')]), `${facts.join('. ')}.`].join(
    '\n\n',
  );
}

/** Removes 404, which the document mentions once for all routes. */
function besides404(errors: readonly number[]): string {
  return errors.filter((status) => status !== 404).join(', ');
}

function rolesOf(rights: readonly string[]): string {
  const roles = rolesWith(rights);
  return roles.length === ROLES.length ? 'all' : roles.join(', ');
}

/** Returns the section of a schema with fields. Other schemas are inlined. */
function renderSchema(name: string, schema: unknown): readonly string[] {
  if (!isMap(schema)) return [];
  const fields = fieldsOf(schema);
  if (fields.length === 0) return [];
  const words = typeof schema.description === 'string' ? [schema.description] : [];
  return [`### ${name}`, ...words, fields.join('\n')];
}

/** Returns a line for each field with a description, and one for all others of the same type. */
function fieldsOf(schema: JsonMap): readonly string[] {
  if (!isMap(schema.properties)) return [];
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const plain = new Map<string, string[]>();
  const described: string[] = [];
  for (const [name, field] of Object.entries(schema.properties)) {
    if (!isMap(field)) continue;
    const shown = `\`${name}${required.has(name) ? '' : '?'}\``;
    const below = isMap(field.properties) ? field : isMap(field.items) ? field.items : {};
    const nested = fieldsOf(below).map((line) => `  ${line}`);
    if (typeof field.description !== 'string' && nested.length === 0) {
      plain.set(typeOf(field), [...(plain.get(typeOf(field)) ?? []), shown]);
      continue;
    }
    const words = typeof field.description === 'string' ? ` ${field.description}` : '';
    described.push([`- ${shown} ${typeOf(field)}.${words}`, ...nested].join('\n'));
  }
  return [...[...plain].map(([type, names]) => `- ${names.join(', ')}: ${type}`), ...described];
}

function typeOf(schema: unknown): string {
  if (!isMap(schema)) return 'any';
  if (typeof schema.$ref === 'string') return refOf(schema.$ref);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  const choices = [schema.anyOf, schema.oneOf, schema.allOf].find((one) => Array.isArray(one));
  if (Array.isArray(choices)) return namedTypes(choices).join(schema.allOf === undefined ? ' or ' : ' and ');
  if (schema.type === 'array') return `array of ${typeOf(schema.items)}`;
  if (isMap(schema.additionalProperties)) return `object of ${typeOf(schema.additionalProperties)}`;
  if (schema.format === 'date-time') return Array.isArray(schema.type) ? 'Time or null' : 'Time';
  return Array.isArray(schema.type) ? schema.type.join(' or ') : String(schema.type ?? 'any');
}

/** Removes parts that only contain required fields. */
function namedTypes(choices: readonly unknown[]): readonly string[] {
  return choices.map(typeOf).filter((type) => type !== 'any');
}

/** Returns a link for a schema of files, or the type without a link for its fields. */
function refOf(ref: string): string {
  const name = ref.replace('#/components/schemas/', '');
  const [owner = '', field] = name.split('/properties/');
  return field === undefined ? link(owner) : `as in files (${owner})`;
}

/** Links a schema with fields, and inlines others. */
function link(name: string): string {
  if (name === 'PlainObject' || name === 'PlainObjectFile') return 'typed object';
  const schema = SCHEMAS[name];
  if (schema === undefined) return name.includes('/') ? `\`${name}\`` : name;
  if (!isMap(schema)) return name;
  return fieldsOf(schema).length > 0 ? `[${name}](#${name.toLowerCase()})` : typeOf(schema);
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/rest-reference.md', import.meta.url), renderRest());
}

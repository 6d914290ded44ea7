// Writes schemas/openapi.json, the OpenAPI document of the interface: `npm run docs:openapi`, after a change of
// schemas/api.json, of a schema of files, or of roles, states and error codes. schemas/api.json describes each route
// and its bodies. A test fails if the file is not current.
import { writeFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import api from '../schemas/api.json' with { type: 'json' };
import { rolesWith } from '../src/api/authorize.ts';
import { ERROR_STATUSES } from '../src/api/errors.ts';
import { invariant } from '../src/base/invariant.ts';
import { productVersion } from '../src/base/product-files.ts';
import { SCHEMAS } from '../src/catalog/schemas.ts';
import { isMap, type JsonMap } from '../src/model/json.ts';
import { ROLES, TYPE_NAMES } from '../src/model/names.ts';
import { INSTANCE_STATUSES, STATES } from '../src/model/state.ts';
import { ATTENTION_KINDS } from '../src/service/answers.ts';

/**
 * The common description of operations of one kind, or additions of one operation. Numbers are statuses of error
 * answers.
 */
interface Described {
  readonly parameters?: readonly string[];
  /** By status: a schema, or the media type of an answer that is not JSON; null for an answer without a body. */
  readonly answers?: Readonly<Record<string, string | null>>;
  readonly errors?: readonly number[];
}

interface Kind extends Described {
  /** Keys of the common header descriptions, by header name. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Operation extends Described {
  readonly kind: string;
  readonly summary: string;
  readonly description?: string;
  /**
   * The client needs one of these rights, depending on the written object. Omitted: every registered client may send
   * it.
   */
  readonly rights?: readonly string[];
  readonly body?: string;
}

const KINDS: Readonly<Record<string, Kind>> = api.kinds;
const OPERATIONS: Readonly<Record<string, Operation>> = api.operations;
/** Keywords of the files' schemas that are only for editors, or that OpenAPI has elsewhere. */
const NOT_IN_OPENAPI: ReadonlySet<string> = new Set(['$schema', 'definitions', 'errorMessage', 'doNotSuggest']);
const ON_EVERY_ANSWER = { 'X-Request-Id': 'X-Request-Id', 'X-Treeline-Replica': 'X-Treeline-Replica' };

/** Returns schemas/openapi.json: the OpenAPI 3.1 document of the interface. */
export function renderOpenApi(): string {
  const document = {
    openapi: '3.1.1',
    info: { ...api.info, version: productVersion() },
    servers: [{ url: '/' }],
    security: [{ clientCertificate: [] }],
    paths: describePaths(),
    components: {
      securitySchemes: { clientCertificate: { type: 'mutualTLS', description: api.authentication } },
      parameters: api.parameters,
      headers: api.headers,
      responses: errorResponses(),
      schemas: { ...fileSchemas(), ...enumSchemas(), ...errorSchemas(), ...api.schemas },
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function describePaths(): Record<string, Record<string, object>> {
  const paths: Record<string, Record<string, object>> = {};
  for (const [route, operation] of Object.entries(OPERATIONS)) {
    const [method = '', path = ''] = route.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeOperation(method, path, operation) };
  }
  return paths;
}

function describeOperation(method: string, path: string, operation: Operation): object {
  const { summary, description, rights, body } = operation;
  const kind = KINDS[operation.kind];
  invariant(
    kind !== undefined,
    `schemas/api.json describes ${method} ${path} with the kind ${operation.kind}, which it lacks`,
  );
  const words = path.match(/\w+/g) ?? ['start'];
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const parameters = [...inPath, ...(operation.parameters ?? []), ...(kind.parameters ?? [])];
  return {
    operationId: [method.toLowerCase(), ...words.map(capitalize)].join(''),
    tags: [words[0]],
    summary,
    description,
    'x-roles': rights === undefined ? ROLES : rolesWith(rights),
    parameters: parameters.map((name) => refTo('parameters', name)),
    requestBody: body === undefined ? undefined : { required: true, content: contentOf(body) },
    responses: describeAnswers(kind, operation),
  };
}

function describeAnswers(kind: Kind, operation: Operation): Record<string, object> {
  const answers: Record<string, object> = {};
  for (const [status, content] of Object.entries({ ...kind.answers, ...operation.answers })) {
    const headers = describeHeaders(kind.headers);
    const description = STATUS_CODES[status] ?? status;
    answers[status] =
      content === null ? { description, headers } : { description, headers, content: contentOf(content) };
  }
  for (const status of [...api.errors, ...(kind.errors ?? []), ...(operation.errors ?? [])]) {
    answers[status] = refTo('responses', String(status));
  }
  return answers;
}

function errorResponses(): Record<string, object> {
  const responses: Record<string, object> = {};
  for (const [status, codes] of errorCodes()) {
    const headers = describeHeaders(api.retried.includes(status) ? { 'Retry-After': 'Retry-After' } : {});
    responses[status] = { description: codes.join(', '), headers, content: contentOf(`Error${status}`) };
  }
  return responses;
}

/** Returns the schema of all errors, and that of each status. */
function errorSchemas(): Record<string, object> {
  const schemas: Record<string, object> = { Error: errorSchema({ type: 'integer' }, Object.keys(ERROR_STATUSES)) };
  for (const [status, codes] of errorCodes()) schemas[`Error${status}`] = errorSchema({ const: status }, codes);
  return schemas;
}

function errorSchema(status: object, codes: readonly string[]): object {
  const details = { type: 'array', items: refTo('schemas', 'ErrorDetail') };
  return {
    type: 'object',
    required: ['message', 'return_code', 'error'],
    properties: { message: { type: 'string' }, return_code: status, error: { enum: codes }, details },
  };
}

/** Returns the codes of each status. */
function errorCodes(): Map<number, readonly string[]> {
  const codes = Object.groupBy(Object.entries(ERROR_STATUSES), ([, status]) => status);
  return new Map(Object.entries(codes).map(([status, of = []]) => [Number(status), of.map(([code]) => code)]));
}

function enumSchemas(): Record<string, object> {
  return {
    State: { description: 'The state of a server.', enum: STATES },
    InstanceStatus: { description: 'The status of a stack instance.', enum: INSTANCE_STATUSES },
    AttentionKind: { description: 'The kind of a cause that needs an operator.', enum: ATTENTION_KINDS },
    Role: { description: 'The role of a client.', enum: ROLES },
    TypeName: { description: 'The name of a type.', enum: TYPE_NAMES },
  };
}

/**
 * Returns the schemas of files, with definitions as `<schema>.<definition>`, because references are global in the
 * document.
 */
function fileSchemas(): Record<string, unknown> {
  const schemas: Record<string, unknown> = {};
  // hierarchy.yaml can only be written with git.
  const { hierarchy: _, ...objects } = SCHEMAS;
  for (const [type, schema] of Object.entries(objects)) {
    const definitions = Object.entries({ ...(schema as { readonly definitions?: JsonMap }).definitions });
    for (const [name, part] of [[type, schema], ...definitions.map(([name, part]) => [`${type}.${name}`, part])]) {
      schemas[String(name)] = toOpenApi(part, type);
    }
  }
  return schemas;
}

function toOpenApi(schema: unknown, type: string): unknown {
  if (Array.isArray(schema)) return schema.map((part) => toOpenApi(part, type));
  if (!isMap(schema)) return schema;
  const known = Object.entries(schema).filter(([keyword]) => !NOT_IN_OPENAPI.has(keyword));
  return Object.fromEntries(
    known.map(([keyword, part]) => {
      if (keyword !== '$ref' || typeof part !== 'string') return [keyword, toOpenApi(part, type)];
      return [keyword, part.replace('#/definitions/', `#/components/schemas/${type}.`)];
    }),
  );
}

function contentOf(content: string): object {
  if (content.includes('/')) return { [content]: { schema: { type: 'string' } } };
  return { 'application/json': { schema: refTo('schemas', content) } };
}

function describeHeaders(headers: Readonly<Record<string, string>>): object {
  const all = Object.entries({ ...ON_EVERY_ANSWER, ...headers });
  return Object.fromEntries(all.map(([name, described]) => [name, refTo('headers', described)]));
}

function refTo(section: string, name: string): { readonly $ref: string } {
  return { $ref: `#/components/${section}/${name}` };
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

if (import.meta.main) {
  writeFileSync(new URL('../schemas/openapi.json', import.meta.url), renderOpenApi());
}

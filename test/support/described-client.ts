// Holds every answer against the OpenAPI document: a status, header or field that it does not describe fails the test that got it.
import { gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import openApi from '../../schemas/openapi.json' with { type: 'json' };
import { isMap, type JsonMap } from '../../src/model/json.ts';
import type { Role } from '../../src/model/names.ts';
import type { Ask, HttpsClient, Reply } from './https-client.ts';

interface Schema {
  readonly $ref: string;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface DescribedAnswer {
  readonly headers: Readonly<Record<string, Schema>>;
  readonly content?: Content;
}

interface Operation {
  readonly 'x-roles': readonly Role[];
  readonly parameters: readonly Schema[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, DescribedAnswer | Schema>>;
}

/** The document as clients get it. */
export const DOCUMENT = openApi as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: object;
    readonly parameters: Readonly<Record<string, { readonly name: string; readonly in: string }>>;
    readonly headers: Readonly<Record<string, { readonly required?: boolean }>>;
    readonly responses: Readonly<Record<string, DescribedAnswer>>;
    readonly schemas: Readonly<Record<string, JsonMap>>;
  };
};
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
/** The headers that are not those of every HTTP server. */
const OWN_HEADER = /^(?:x-.*|etag|retry-after)$/;
const ADVICE =
  'describe it in schemas/api.json and run `npm run docs:openapi`, as CONTRIBUTING.md says under "Add a route", or correct the answer';

const ajv = new Ajv2020({ strict: false, formats: { 'date-time': RFC_3339 } });
ajv.addSchema({ $id: 'api', components: { schemas: mapValues(DOCUMENT.components.schemas, (one) => close(one)) } });

/** The operations, those of paths with fewer parameters first: `/hiera/all` is no node. */
const OPERATIONS = Object.entries(DOCUMENT.paths)
  .map(([path, methods]) => ({ path, methods, pattern: patternOf(path) }))
  .sort((a, b) => a.path.split('{').length - b.path.split('{').length);

/**
 * Returns the client; its requests reject where the answer is not as it is described. `isWhole`: a whole controller answers, which
 * accepts no body that is not described either.
 */
export function describedClient(client: HttpsClient, isWhole = false): HttpsClient {
  return {
    async request(path, ask = {}) {
      const reply = await client.request(path, ask);
      const faults = [...faultsOf(path, ask, reply), ...(isWhole ? faultsOfRequest(path, ask, reply) : [])];
      if (faults.length === 0) return reply;
      const answer = `${ask.method ?? 'GET'} ${path} was answered ${reply.status} ${reply.bytes.toString().slice(0, 500)}`;
      throw new Error([`${answer}, which GET /openapi.json does not describe:`, ...faults, ADVICE].join('\n'));
    },
  };
}

/** Returns what is not as it is described; empty where all is. */
export function faultsOf(path: string, ask: Ask, reply: Reply): readonly string[] {
  const { method = 'GET' } = ask;
  const operation = operationAt(method, path);
  const { status } = reply;
  if (operation === undefined) {
    return status < 400 ? ['there is no such path with this method'] : faultsOfBody('Error', bodyIn(reply));
  }
  const described = operation.responses[status];
  if (described === undefined) return [`the statuses are ${Object.keys(operation.responses).join(', ')}`];
  const answer = '$ref' in described ? DOCUMENT.components.responses[nameIn(described)] : described;
  return faultsOfAnswer(answer, reply, method === 'HEAD');
}

/** Returns what is not described of the body of a request that was carried out. */
export function faultsOfRequest(path: string, { method = 'GET', body }: Ask, { status }: Reply): readonly string[] {
  const schema = operationAt(method, path)?.requestBody?.content['application/json']?.schema;
  if (schema === undefined || typeof body !== 'string' || status >= 300) return [];
  return faultsOfBody(nameIn(schema), JSON.parse(body)).map((fault) => `the body of the request: ${fault}`);
}

function faultsOfAnswer(answer: DescribedAnswer | undefined, reply: Reply, isHead: boolean): readonly string[] {
  const faults = faultsOfHeaders(answer?.headers ?? {}, reply);
  if (isHead) return faults;
  const type = reply.headers['content-type']?.split(';')[0];
  if (answer?.content === undefined) return reply.bytes.length > 0 ? [...faults, 'it has a body'] : faults;
  const described = type === undefined ? undefined : answer.content[type];
  if (described === undefined) return [...faults, `it is ${type}, and not ${Object.keys(answer.content)}`];
  return type === 'application/json' ? [...faults, ...faultsOfBody(nameIn(described.schema), bodyIn(reply))] : faults;
}

function faultsOfHeaders(described: DescribedAnswer['headers'], { headers }: Reply): readonly string[] {
  const required = Object.entries(described).filter(([, one]) => DOCUMENT.components.headers[nameIn(one)]?.required);
  const missing = required.filter(([name]) => headers[name.toLowerCase()] === undefined);
  const names = new Set(Object.keys(described).map((name) => name.toLowerCase()));
  const unknown = Object.keys(headers).filter((name) => OWN_HEADER.test(name) && !names.has(name));
  return [
    ...missing.map(([name]) => `the header ${name} is missing`),
    ...unknown.map((name) => `the header ${name} is not described`),
  ];
}

/** Returns what of a body is not as the schema of that name says. */
export function faultsOfBody(schema: string, body: unknown): readonly string[] {
  const validate = ajv.getSchema(`api#/components/schemas/${schema}`);
  if (validate === undefined) return [`there is no schema ${schema}`];
  if (validate(body)) return [];
  const errors = (validate.errors ?? []).slice(0, 10);
  return errors.map(({ instancePath, message, params }) => {
    return `${schema}: ${instancePath === '' ? 'it' : instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

function bodyIn({ body, bytes, headers }: Reply): unknown {
  return headers['content-encoding'] === 'gzip' ? JSON.parse(gunzipSync(bytes).toString()) : body;
}

function operationAt(method: string, path: string): Operation | undefined {
  const name = method === 'HEAD' ? 'get' : method.toLowerCase();
  const plain = path.split('?')[0] ?? '';
  return OPERATIONS.find(({ methods, pattern }) => name in methods && pattern.test(plain))?.methods[name];
}

/** Both spellings of a path, with and without the slash at its end. */
function patternOf(path: string): RegExp {
  const parts = path
    .replace(/\/$/, '')
    .replace(/[.]/g, '\\.')
    .replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${parts}/?$`);
}

function nameIn({ $ref }: Schema): string {
  return $ref.split('/').at(-1) ?? '';
}

/**
 * Returns the schema with every object closed. Clients have to take fields that they do not know, so the document leaves objects
 * open; but no answer has a field that is not described. `isPart`: others describe further fields of the same object.
 */
function close(schema: unknown, isPart = false): unknown {
  if (!isMap(schema)) return schema;
  const closed = mapValues(schema, (part, keyword) => {
    if (keyword === 'properties' && isMap(part)) return mapValues(part, (one) => close(one));
    if (Array.isArray(part)) return part.map((one) => close(one, keyword === 'allOf' || isPart));
    return close(part);
  });
  const isOpen = !('additionalProperties' in schema) && ('properties' in schema || 'allOf' in schema);
  return isOpen && !isPart ? { ...closed, unevaluatedProperties: false } : closed;
}

function mapValues(map: JsonMap, change: (value: unknown, key: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value, key)]));
}

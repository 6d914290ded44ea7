// Reads the bodies of write requests: JSON objects with known fields. See docs/rest.md, requests.
import { type Request, type RequestHandler, raw } from 'express';
import { didYouMean, reasonOf } from '../base/wording.ts';
import { REASON_MAX } from '../model/instance-event.ts';
import { fieldOf, isExact, isMap, type Json, type JsonMap } from '../model/json.ts';
import { type ErrorDetail, ServiceError } from '../model/service-error.ts';
import { requireAllowed } from './authenticate.ts';

/** The largest body, but for reports of proxies. */
export const BODY_BYTES_MAX = 1024 * 1024;
const NO_BODY = 'The body is missing: send a JSON object, {} where there is nothing to say';
/** More of them are not read, and an answer would be many times as long as the body. */
const FAULTS_MAX = 20;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
/** As deep as a file may be, and as many keys, values, objects and lists. */
const DEPTH_MAX = 64;
const VALUES_MAX = 50_000;
/** Enough to recognise a number or a key. */
const SHOWN_MAX = 40;

/**
 * Returns the handlers that read a JSON body into `request.body`. Only a DELETE may come without one. A client that has
 * lost its rights before the body is there goes no further.
 */
export function jsonBody(bytesMax = BODY_BYTES_MAX): RequestHandler {
  const read = raw({ type: () => true, limit: bytesMax });
  return async (request, response, next) => {
    const isDelete = request.method === 'DELETE';
    if (!isDelete) requireJsonType(request);
    // The old name of gzip (RFC 9110, 8.4.1.3), which Express does not know.
    if (request.headers['content-encoding'] === 'x-gzip') request.headers['content-encoding'] = 'gzip';
    const failure = await new Promise((resolve) => read(request, response, resolve));
    if (failure !== undefined) throw bodyFault(failure, bytesMax);
    requireAllowed(request);
    const bytes: Uint8Array = request.body ?? Buffer.alloc(0);
    // The bytes count, not the headers: clients send a DELETE with Content-Length: 0, or with no chunk.
    if (bytes.length === 0 && !isDelete) throw new ServiceError('invalid_input', NO_BODY);
    if (bytes.length > 0 && isDelete) requireJsonType(request);
    request.body = bytes.length === 0 ? undefined : parseBody(bytes);
    next();
  };
}

/** Returns the error for what Express says of a body. */
function bodyFault(failure: unknown, bytesMax: number): unknown {
  const { type, encoding } = failure as { readonly type?: string; readonly encoding?: string };
  if (type === 'entity.too.large') {
    return new ServiceError('body_too_large', `The body is larger than ${bytesMax / BODY_BYTES_MAX} MiB`);
  }
  if (type === 'encoding.unsupported') {
    const message = `The content encoding "${encoding}" is not known; send the body with "gzip", or as it is`;
    return new ServiceError('unsupported_media_type', message);
  }
  return new ServiceError('invalid_input', `The body cannot be read: ${reasonOf(failure)}`);
}

/**
 * Returns the value of a body. Throws `invalid_input` for what is no UTF-8, no JSON, too much, or has a number that is
 * not kept exactly.
 */
function parseBody(bytes: Uint8Array): Json {
  const text = decode(bytes);
  try {
    // Counted first: to look at each number takes a second for a body of nothing but numbers.
    if (countValues(JSON.parse(text)) > VALUES_MAX) {
      refuse(`it has more than ${VALUES_MAX} keys and values, as no file may; send fewer`);
    }
    return JSON.parse(text, refuseInexact) as Json;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('invalid_input', `The body is not JSON: ${reasonOf(error)}`);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ServiceError('invalid_input', 'The body is not UTF-8: it has to be JSON in UTF-8');
  }
}

function countValues(value: Json, depth = 0): number {
  if (depth > DEPTH_MAX) refuse(`it has more than ${DEPTH_MAX} objects and lists inside one another`);
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + countValues(one, depth + 1), 1);
}

/** `source`: the number as it is written. */
function refuseInexact(key: string, value: Json, { source = '' }: { readonly source?: string } = {}): Json {
  if (typeof value !== 'number' || isExact(value)) return value;
  const [shown, name] = [source, key].map((text) => (text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text));
  const hint = `to keep it as written, put it in quotes: "${shown}"`;
  return refuse(`the number ${shown}${name === '' ? '' : ` of "${name}"`} is too large to be kept exactly; ${hint}`);
}

function refuse(message: string): never {
  throw new ServiceError('invalid_input', `The body: ${message}`, [{ pointer: '', message }]);
}

/** The kind of a field: a word for messages, and the check. */
interface FieldKind<Value extends Json> {
  readonly is: string;
  readonly accepts: (value: Json) => value is Value;
}

/** A field that holds any string. */
export const TEXT: FieldKind<string> = { is: 'a string', accepts: (value) => typeof value === 'string' };
/** A field that says why; an event shows it. */
export const REASON: FieldKind<string> = {
  is: `a string of at most ${REASON_MAX} characters`,
  accepts: (value): value is string => typeof value === 'string' && value.length <= REASON_MAX,
};
/** A field that holds `true`; false is said by leaving it out. */
export const TRUE: FieldKind<true> = { is: 'true', accepts: (value): value is true => value === true };
/** RFC 3339, such as `2026-11-20T10:13:56Z`; without its zone a time would be that of wherever the controller runs. */
export const TIME: FieldKind<string> = {
  is: 'a time such as 2026-11-20T10:13:56Z',
  accepts: (value): value is string =>
    typeof value === 'string' && RFC_3339.test(value) && !Number.isNaN(Date.parse(value)),
};

type Fields<Kinds> = { readonly [Name in keyof Kinds]?: Kinds[Name] extends FieldKind<infer Value> ? Value : never };

/**
 * Returns a body whose fields are all known and of the right kind. Else throws `invalid_input` that names the faults,
 * at most 20.
 */
export function readFields<const Kinds extends Readonly<Record<string, FieldKind<Json>>>>(
  body: unknown,
  kinds: Kinds,
): Fields<Kinds> {
  if (body !== undefined && !isMap(body)) throw new ServiceError('invalid_input', 'The body has to be a JSON object');
  const faults: ErrorDetail[] = [];
  for (const [name, value] of Object.entries(body ?? {})) {
    if (faults.length < FAULTS_MAX) faults.push(...checkField(name, value, kinds));
  }
  const [first] = faults;
  if (first !== undefined) throw new ServiceError('invalid_input', first.message, faults);
  // Every field was checked against its kind just now.
  return (body ?? {}) as JsonMap as Fields<Kinds>;
}

function checkField(name: string, value: Json, kinds: Readonly<Record<string, FieldKind<Json>>>): ErrorDetail[] {
  const kind = fieldOf(kinds, name);
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  if (kind === undefined) {
    const advice = didYouMean(name, Object.keys(kinds)) ?? `the fields are ${Object.keys(kinds).join(', ')}`;
    return [{ pointer, message: `There is no field "${name}"; ${advice}` }];
  }
  return kind.accepts(value) ? [] : [{ pointer, message: `"${name}" has to be ${kind.is}` }];
}

function requireJsonType(request: Request): void {
  // A page of another site can make a browser send other types without asking first.
  const [type = '', ...parameters] = (request.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json') {
    throw new ServiceError('unsupported_media_type', 'The body has to be JSON, with Content-Type: application/json');
  }
  requireUtf8(parameters);
}

function requireUtf8(parameters: readonly string[]): void {
  for (const parameter of parameters) {
    const [, charset] = /^\s*charset\s*=\s*"?([^"]*?)"?\s*$/i.exec(parameter) ?? [];
    if (charset === undefined || /^utf-?8$/i.test(charset)) continue;
    throw new ServiceError('unsupported_media_type', `The charset "${charset}" is not read; send JSON in UTF-8`);
  }
}

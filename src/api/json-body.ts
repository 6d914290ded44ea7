// Reads the bodies of write requests: JSON objects with known fields. See docs/rest.md, requests.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Request, RequestHandler } from 'express';
import { Shares } from '../base/shares.ts';
import { didYouMean, reasonOf } from '../base/wording.ts';
import { REASON_MAX } from '../model/instance-event.ts';
import { fieldOf, isExact, isMap, type Json, type JsonMap } from '../model/json.ts';
import { type ErrorDetail, ServiceError } from '../model/service-error.ts';
import { requireAllowed } from './authenticate.ts';
import { fingerprintOf } from './peer.ts';

/** The maximum size of a body, except reports of proxies. */
export const BODY_BYTES_MAX = 1024 * 1024;
/** Limits the bodies in memory: each is kept whole until it has arrived. */
const bodies = new Shares({ ofClient: 8, waitingOfClient: 1_000 });
const NO_BODY = 'The body is missing: send a JSON object, {} if it has no fields';
/** The limit of reported faults, so that the answer does not become many times as long as the body. */
const FAULTS_MAX = 20;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
/** The limits of a file: nesting, and the number of keys, values, objects and lists. */
const DEPTH_MAX = 64;
const VALUES_MAX = 50_000;
/** How much of a number or key a message shows. */
const SHOWN_MAX = 40;

/**
 * Returns the handler that reads a JSON body into `request.body`. Only a DELETE may have no body. A client that lost
 * its rights before the body arrived is refused.
 */
export function jsonBody(bytesMax = BODY_BYTES_MAX): RequestHandler {
  return async (request, response, next) => {
    const isDelete = request.method === 'DELETE';
    if (!isDelete) requireJsonType(request);
    const bytes = await bodies.run(fingerprintOf(request), () => readBody(request, bytesMax));
    if (bytes === undefined || response.destroyed) return;
    requireAllowed(request);
    // Judged by the bytes: some clients send a DELETE with Content-Length: 0 or with an empty chunked body.
    if (bytes.length === 0 && !isDelete) throw new ServiceError('invalid_input', NO_BODY);
    if (bytes.length > 0 && isDelete) requireJsonType(request);
    request.body = bytes.length === 0 ? undefined : parseBody(bytes);
    next();
  };
}

/** Resolves with the decompressed body; undefined if the client disconnects first. Throws ServiceError. */
async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  // Keep the connection after a refused body, to send the answer.
  const read = decoded(request, encoding).iterator({ destroyOnReturn: false });
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of read as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) break;
      chunks.push(chunk);
    }
  } catch {
    if (request.destroyed && !request.complete) return undefined;
    request.resume();
    throw new ServiceError('invalid_input', `The body is not valid ${encoding}`);
  }
  if (bytes <= bytesMax) return Buffer.concat(chunks);
  request.unpipe().resume();
  throw new ServiceError('body_too_large', `The body is larger than ${bytesMax / BODY_BYTES_MAX} MiB`);
}

/** RFC 9110, 8.4.1.3: `x-gzip` is the same as `gzip`. */
function decoded(request: IncomingMessage, encoding: string): Readable {
  if (encoding === 'identity') return request;
  if (encoding === 'gzip' || encoding === 'x-gzip') return unpacked(request);
  const message = `The content encoding "${encoding}" is not supported; send the body with "gzip" or uncompressed`;
  throw new ServiceError('unsupported_media_type', message);
}

function unpacked(request: IncomingMessage): Readable {
  const unzip = createGunzip();
  request.once('close', () => {
    if (!request.complete) unzip.destroy();
  });
  return request.pipe(unzip);
}

/**
 * Returns the value of a body. Throws `invalid_input` if it is not UTF-8, not JSON, too large, or contains a number
 * that would lose precision.
 */
function parseBody(bytes: Uint8Array): Json {
  const text = decode(bytes);
  refuseTooMuch(text);
  try {
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

/**
 * Counts before parsing, because parsing deeply nested text takes long. The count is only meaningful for valid JSON.
 */
function refuseTooMuch(text: string): void {
  let [depth, values, isString] = [0, 0, false];
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '\\') index += 1;
    else if (character === '"') isString = !isString;
    else if (!isString) {
      if (character === '{' || character === '[') depth += 1;
      else if (character === '}' || character === ']') depth -= 1;
      else if (character === ':' || character === ',') values += 1;
      if (depth > DEPTH_MAX) refuse(`it is nested more than ${DEPTH_MAX} levels deep`);
      if (values > VALUES_MAX)
        refuse(`it has more than ${VALUES_MAX} keys and values, the limit of a file; send fewer`);
    }
  }
}

/** `source`: the number as written in the body. */
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

/** A field with any string. */
export const TEXT: FieldKind<string> = { is: 'a string', accepts: (value) => typeof value === 'string' };
/** A field with a reason, which an event shows. */
export const REASON: FieldKind<string> = {
  is: `a string of at most ${REASON_MAX} characters`,
  accepts: (value): value is string => typeof value === 'string' && value.length <= REASON_MAX,
};
/** A field with the value `true`. Omit the field for false. */
export const TRUE: FieldKind<true> = { is: 'true', accepts: (value): value is true => value === true };
/** RFC 3339, such as `2026-11-20T10:13:56Z`. The zone is required: the zone of the controller is no useful default. */
export const TIME: FieldKind<string> = {
  is: 'a time such as 2026-11-20T10:13:56Z',
  accepts: (value): value is string =>
    typeof value === 'string' && RFC_3339.test(value) && !Number.isNaN(Date.parse(value)),
};

type Fields<Kinds> = { readonly [Name in keyof Kinds]?: Kinds[Name] extends FieldKind<infer Value> ? Value : never };

/**
 * Returns the body if all fields are known and of the right kind. Otherwise throws `invalid_input` with at most 20
 * faults.
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
  // Every field was checked against its kind above.
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
  // A page of another site can make a browser send other content types without a CORS preflight.
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

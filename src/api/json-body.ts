// Parses the bodies of write requests: JSON objects with known fields. See docs/rest.md, requests.
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { Shares } from '../base/shares.ts';
import { didYouMean } from '../base/wording.ts';
import { REASON_MAX } from '../model/instance-event.ts';
import { fieldOf, isMap, type Json, type JsonMap } from '../model/json.ts';
import { type ErrorDetail, ServiceError } from '../model/service-error.ts';
import { requireAllowed } from './authenticate.ts';
import { clientTurns } from './client-turns.ts';
import { fingerprintOf } from './peer.ts';
import { parseStrictJson } from './strict-json.ts';

/** The largest body, but for reports of proxies. */
export const BODY_BYTES_MAX = 1024 * 1024;
/** Longer ones take too long to parse for many of them in one turn of the event loop. */
const SHORT_BYTES_MAX = 64 * 1024;
/**
 * Bodies that are read: each takes its whole length in memory until then. A connection has one at a time. One that arrives slowly
 * holds its place for as long as a request may take: the places of several clients together leave others free.
 */
const bodies = new Shares({ atOnce: 128, ofClient: 8, waitingOfClient: 1_000 });
const NO_BODY = 'The body is missing: send a JSON object, {} where there is nothing to say';
/** More of them are not read, and an answer would be many times as long as the body. */
const FAULTS_MAX = 20;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** How much a body may hold. */
interface BodyLimits {
  readonly bytesMax?: number | undefined;
  /** Of all its objects together. */
  readonly keysMax?: number | undefined;
}

/**
 * Returns the handlers that read a JSON body into `request.body`. Only a DELETE may come without one. A client that has lost its
 * rights until the body is there goes no further. A large one is parsed, and what follows is done, in the turn of its client.
 */
export function jsonBody({ bytesMax = BODY_BYTES_MAX, keysMax }: BodyLimits = {}): RequestHandler[] {
  const bytes = express.raw({ limit: bytesMax, type: () => true });
  const parse: RequestHandler = (request, _response, next) => parseBytes(request, keysMax, next);
  return [requireJson, explained(bytes, bytesMax), inTurn, parse];
}

function inTurn(request: Request, response: Response, next: NextFunction): void {
  const { body } = request as { readonly body: unknown };
  const goOn = (): void => {
    if (!response.destroyed) next();
  };
  if (body instanceof Uint8Array && body.length > SHORT_BYTES_MAX) clientTurns.inTurn(fingerprintOf(request), goOn);
  else goOn();
}

/** Returns the handler that reads bytes in the turn of their client, with what it finds wrong said in words of this interface. */
function explained(readBytes: RequestHandler, bytesMax: number): RequestHandler {
  return async (request, response, next) => {
    const asker = { client: fingerprintOf(request), isGone: () => response.destroyed };
    const error = await bodies.run(asker, () => {
      return new Promise<unknown>((resolve) => void readBytes(request, response, resolve));
    });
    if (response.destroyed) return;
    if (error === undefined) next();
    else next(bodyFault(error, request.headers['content-encoding'] ?? '', bytesMax));
  };
}

/** Errors of Express have a `type`; errors of decompression have none. */
function bodyFault(error: unknown, encoding: string, bytesMax: number): unknown {
  if (!(error instanceof Error)) return error;
  const type = 'type' in error ? error.type : undefined;
  if (type === 'entity.too.large') {
    return new ServiceError('body_too_large', `The body is larger than ${bytesMax / BODY_BYTES_MAX} MiB`);
  }
  if (type === 'encoding.unsupported') {
    const message = `The content encoding "${encoding}" is not known; send the body with "gzip", or as it is`;
    return new ServiceError('unsupported_media_type', message);
  }
  return type === undefined ? new ServiceError('invalid_input', `The body is not valid ${encoding}`) : error;
}

function parseBytes(request: Request, keysMax: number | undefined, next: NextFunction): void {
  requireAllowed(request);
  const bytes: unknown = request.body;
  const isDelete = request.method === 'DELETE';
  // The bytes count, not the headers: clients send a DELETE with Content-Length: 0, or with no chunk.
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) {
    if (!isDelete) throw new ServiceError('invalid_input', NO_BODY);
    request.body = undefined;
    next();
    return;
  }
  if (isDelete) requireJsonType(request);
  request.body = parseStrictJson(bytes, keysMax);
  next();
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

/** Returns a body whose fields are all known and of the right kind. Else throws `invalid_input` that names the faults, at most 20. */
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

function requireJson(request: Request, _response: Response, next: NextFunction): void {
  if (request.method !== 'DELETE') requireJsonType(request);
  const { headers } = request;
  // RFC 9110, 8.4.1.3.
  if (headers['content-encoding']?.toLowerCase() === 'x-gzip') headers['content-encoding'] = 'gzip';
  next();
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

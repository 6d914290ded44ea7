// The table of routes: the handlers of each path by method. Refuses other methods and unknown query parameters.
// schemas/openapi.json describes each route.
import { type NextFunction, type Request, type RequestHandler, type Response, Router } from 'express';
import openApi from '../../../schemas/openapi.json' with { type: 'json' };
import type { Shares } from '../../base/shares.ts';
import { didYouMean, quote } from '../../base/wording.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { PageSettings } from '../../model/settings.ts';
import type { Explainer } from '../../service/explain/explainer.ts';
import type { Operator } from '../../service/operate/operator.ts';
import type { Reader } from '../../service/read/reader.ts';
import type { Writer } from '../../service/write/writer.ts';
import type { AnswerCache } from '../answer-cache.ts';

/** Facts about the controller and its environment, which the page shows; the same on every replica. */
export interface ControllerFacts {
  readonly id: string;
  readonly version: string;
  readonly page: PageSettings;
}

/** The parts that the routes of one application share. */
export interface RouteParts {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly operator: Operator;
  readonly explainer: Explainer;
  readonly controller: ControllerFacts;
  readonly cache: AnswerCache;
  /** The shares of slow answers. */
  readonly lists: Shares;
}

/** The parameters of paths. A request has only the parameters of its path. */
export type PathParams = Record<'id' | 'type' | 'serial' | 'clientcert' | 'key' | 'server' | 'oid', string>;

/** A request of a route. */
export type RouteRequest = Request<PathParams>;

type Handlers = RequestHandler<PathParams> | readonly RequestHandler<PathParams>[];

/** The handlers of one path. */
export interface Methods {
  readonly GET?: Handlers;
  readonly POST?: Handlers;
  readonly DELETE?: Handlers;
  /** Methods that a later path of the table answers, because it matches too. */
  readonly later?: readonly ('GET' | 'POST')[];
  /** By refused method, the path that supports it. */
  readonly advice?: Readonly<Record<string, string>>;
}

/** By path, in Express's notation. If two match, the first wins. */
export type RouteTable = Readonly<Record<string, Methods>>;

/** Returns the routes of a table. */
export function routerOf(table: RouteTable): Router {
  const router = Router({ caseSensitive: true });
  for (const [path, { later = [], advice = {}, ...handlers }] of Object.entries(table)) {
    const methods = Object.entries(handlers) as [method: 'GET' | 'POST' | 'DELETE', Handlers][];
    const route = router.route(path).all(checkQuery(path), only([...later, ...methods.map(([name]) => name)], advice));
    for (const [method, given] of methods) {
      route[method.toLowerCase() as Lowercase<typeof method>](...([given].flat() as RequestHandler[]));
    }
  }
  return router;
}

/** Returns a handler that passes these methods, and HEAD with GET. The refusal of others lists them. */
function only(methods: readonly string[], advice: Readonly<Record<string, string>>): RequestHandler {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return ({ method, path }: Request, response: Response, next: NextFunction): void => {
    if (!allowed.includes(method)) {
      response.setHeader('Allow', allowed.join(', '));
      const where = Object.hasOwn(advice, method) ? `; ${advice[method]}` : '';
      const message = `${method} is not possible on ${path}, only ${allowed.join(', ')}${where}`;
      throw new ServiceError('method_not_allowed', message);
    }
    next();
  };
}

/** The parts of the document that are used here. */
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly parameters: readonly Reference[] }>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

interface Reference {
  readonly $ref: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
}

const DOCUMENT: OpenApi = openApi;
/** The names of query parameters, by method and path without the names of its parameters. */
const QUERIES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters }]) => [
      `${method.toUpperCase()} ${withoutNames(path)}`,
      parameters.map(parameterOf).flatMap((one) => (one?.in === 'query' ? one.name : [])),
    ]),
  ),
);
/** The prefixes of the paths of all routes, with one part and with two. */
const KNOWN_PATHS = beginningsOf(Object.keys(DOCUMENT.paths).slice(1), 3).map((path) => path.replace(/{(.*)}/, '<$1>'));
const SECTIONS = beginningsOf(KNOWN_PATHS, 2);

function beginningsOf(paths: readonly string[], parts: number): readonly string[] {
  return [...new Set(paths.map((path) => path.split('/', parts).join('/').replace(/\/$/, '')))];
}

function parameterOf({ $ref }: Reference): Parameter | undefined {
  return DOCUMENT.components.parameters[$ref.split('/').at(-1) ?? ''];
}

function withoutNames(path: string): string {
  return path.replaceAll(/:\w+|\{\w+\}/g, '*').replace(/(.)\/$/, '$1');
}

/** Returns a handler that throws `invalid_input` for a query parameter that the route does not have. */
function checkQuery(path: string): RequestHandler {
  return ({ method, query }: Request, _response: Response, next: NextFunction): void => {
    const known = QUERIES.get(`${method === 'HEAD' ? 'GET' : method} ${withoutNames(path)}`);
    const unknown = known && Object.keys(query).find((name) => !known.includes(name));
    if (known !== undefined && unknown !== undefined) {
      const advice = known.length === 0 ? 'it has none' : `they are ${known.join(', ')}`;
      const hint = didYouMean(unknown, known) ?? advice;
      throw new ServiceError('invalid_input', `This route has no query parameter ${quote(unknown)}; ${hint}`);
    }
    next();
  };
}

const HEALTH = /^\/(?:livez|readyz|leaderz|healthz|metrics)\b/;

/** Refuses a path without a route, with advice. */
export function refuseUnknownPath({ method, path }: Request): never {
  throw new ServiceError('not_found', `There is nothing at ${method} ${path}; ${adviceFor(path)}`);
}

function adviceFor(path: string): string {
  if (HEALTH.test(path)) {
    return '/livez, /readyz, /leaderz and /metrics are served over plain HTTP on the port of the setting management.port';
  }
  const [section = ''] = beginningsOf([path], 2);
  const near = didYouMean(path.replace(/\/$/, ''), KNOWN_PATHS) ?? didYouMean(section, SECTIONS);
  if (near !== null) return near;
  const below = KNOWN_PATHS.filter((known) => known.startsWith(`${section}/`));
  return below.length === 0 ? `everything is below ${SECTIONS.join(', ')}` : `below ${section} are ${below.join(', ')}`;
}

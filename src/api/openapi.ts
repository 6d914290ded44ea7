// Sends the OpenAPI document of the interface, schemas/openapi.json, and reads from it which routes there are. `npm run
// docs:openapi` writes the file.
import { type Request, type Response, Router } from 'express';
import openApi from '../../schemas/openapi.json' with { type: 'json' };
import { PAGE, pageWords } from '../page/serve-page.ts';
import type { Reader } from '../service/read/reader.ts';
import { writeAnswer } from './answer.ts';
import { only } from './only.ts';
import { sendRead } from './present.ts';

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

/** Matches the paths of a route; of two that match, the one with fewer parameters in its path is meant. */
interface QueriedRoute {
  readonly method: string;
  readonly pattern: RegExp;
  readonly parameters: readonly string[];
}

const DOCUMENT: OpenApi = openApi;
const QUERIED_ROUTES: readonly QueriedRoute[] = listQueriedRoutes();

/**
 * By the first part of the paths of all routes, as `/operations`, what comes after it; empty where that answers itself.
 */
export const SECTIONS: ReadonlyMap<string, readonly string[]> = listSections();

function listQueriedRoutes(): readonly QueriedRoute[] {
  const paths = Object.entries(DOCUMENT.paths).sort(([a], [b]) => a.split('{').length - b.split('{').length);
  return paths.flatMap(([path, methods]) => {
    const pattern = new RegExp(`^${path.replace(/\/$/, '').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`);
    return Object.entries(methods).map(([method, { parameters }]) => {
      return { method: method.toUpperCase(), pattern, parameters: queryNames(parameters) };
    });
  });
}

function queryNames(references: readonly Reference[]): readonly string[] {
  const parameters = references.flatMap(
    ({ $ref }) => DOCUMENT.components.parameters[$ref.split('/').at(-1) ?? ''] ?? [],
  );
  return parameters.filter((one) => one.in === 'query').map(({ name }) => name);
}

/**
 * Returns the names of the query parameters of a route by the path of a request; undefined if there is no such route.
 */
export function queryParametersOf(method: string, path: string): readonly string[] | undefined {
  const asked = method === 'HEAD' ? 'GET' : method;
  return QUERIED_ROUTES.find((route) => route.method === asked && route.pattern.test(path))?.parameters;
}

function listSections(): ReadonlyMap<string, readonly string[]> {
  const paths = Object.keys(DOCUMENT.paths).filter((path) => path !== '/');
  const bySection = Map.groupBy(
    paths.map((path) => path.split('/').slice(1)),
    ([first]) => `/${first}`,
  );
  return new Map(
    [...bySection].map(([section, parts]) => {
      const below = new Set(parts.map(([, second = '']) => second.replace(/^{(.*)}$/, '<$1>')));
      return [section, below.has('') ? [] : [...below]];
    }),
  );
}

/**
 * Returns the routes `/openapi.json` and `/`, which names the page and the document. `dashboard`: the address of the
 * page without a certificate; null if it is off.
 */
export function openApiRoutes(reader: Reader, dashboard: string | null): Router {
  const router = Router({ caseSensitive: true });
  const start = { message: pageWords(dashboard), return_code: 200, page: PAGE, dashboard, document: '/openapi.json' };
  for (const [path, body] of Object.entries({ '/': start, '/openapi.json': openApi })) {
    const answer = writeAnswer(body);
    router
      .route(path)
      .all(only('GET'))
      .get((request: Request, response: Response) => sendRead(request, response, { commit: reader.commit(), answer }));
  }
  return router;
}

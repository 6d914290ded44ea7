// The OpenAPI document: it is valid, describes every route and no other, and is sent as any read. test/support/described-client.ts
// holds every answer of the other tests against it.
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROLES } from '../../src/model/names.ts';
import { DOCUMENT, faultsOf, faultsOfRequest } from '../support/described-client.ts';
import { EXCEPTIONS, ROUTES, routesOfApplication } from '../support/route-table.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

/** Operations of the document by `METHOD /path`, as Express would have them but for the names of parameters. */
const DESCRIBED = new Map(
  Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [
      `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '{}').replace(/(.)\/$/, '$1')}`,
      operation,
    ]),
  ),
);

/** The same of the routes; an optional part makes two of one. */
function withoutNames(route: string): readonly string[] {
  const variants = route.includes('{/')
    ? [route.replace(/\{\/.*?\}/, ''), route.replace(/\{(\/.*?)\}/, '$1')]
    : [route];
  return variants.map((one) => one.replace(/:\w+/g, '{}'));
}

test('every route is described, and nothing else', () => {
  const routes = routesOfApplication().flatMap(withoutNames);
  const advice = (what: string) => `${what}: see "operations" in schemas/api.json, and CONTRIBUTING.md, "Add a route"`;
  expect(
    routes.filter((route) => !DESCRIBED.has(route)),
    advice('routes that are not described'),
  ).toEqual([]);
  expect(
    [...DESCRIBED.keys()].filter((one) => !routes.includes(one)),
    advice('no routes any more'),
  ).toEqual([]);
});

test('the roles are those that a request is not refused for', () => {
  const rows = [...Object.entries(ROUTES), ...Object.entries(EXCEPTIONS)];
  for (const [route, operation] of DESCRIBED) {
    const statuses = rows.filter(([one]) => withoutNames(one).includes(route)).map(([, row]) => row.statuses);
    const roles = ROLES.filter((_, index) => statuses.some((each) => each[index] !== 403));
    // A proxy may read one client, itself, which the table does not ask for.
    const wanted = route === 'GET /clients/{}' ? ROLES : roles;
    expect([route, operation['x-roles']]).toEqual([route, wanted]);
  }
});

test('a public validator finds it right, every reference leads somewhere, and every component is used', async () => {
  const text = JSON.stringify(DOCUMENT);
  expect(await new Validator().validate(JSON.parse(text))).toMatchObject({ valid: true });
  const references = text.matchAll(/#\/components\/(\w+)\/([\w.-]+)/g);
  const used = new Set([...references].map(([, section, name]) => `${section}/${name}`));
  const { securitySchemes: _, ...sections } = DOCUMENT.components;
  const defined = Object.entries(sections).flatMap(([section, parts]) => {
    return Object.keys(parts).map((name) => `${section}/${name}`);
  });
  expect([...used].sort()).toEqual(defined.sort());
});

test('it is sent with a tag, below 200 KiB, and to every role', async () => {
  const { status, headers, body, bytes } = await api.request('/openapi.json');
  expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json; charset=utf-8' });
  expect(bytes.length).toBeLessThan(200 * 1024);
  expect(body).toEqual(DOCUMENT);
  const etag = String(headers.etag);
  const again = await api.request('/openapi.json/', {
    headers: { 'If-None-Match': etag },
    identity: api.identities.proxy,
  });
  expect(again).toMatchObject({ status: 304, headers: { etag } });
});

describe('an answer that is not described is found', () => {
  const headers = { 'x-request-id': '1', 'x-treeline-replica': 'a', 'content-type': 'application/json' };
  const replied = (status: number, body: unknown) => {
    return { status, headers, body, bytes: Buffer.from(JSON.stringify(body)) };
  };
  const post = { method: 'POST', body: '{"digest":"beef"}' };

  test.each([
    ['a field', '/operations/approve', post, replied(200, { message: '', return_code: 200, more: 1 }), 'unevaluated'],
    ['a missing field', '/operations/approve', post, replied(200, { message: '' }), 'return_code'],
    ['a status', '/operations/approve', post, replied(204, {}), 'the statuses are'],
    [
      'a code',
      '/operations/approve',
      post,
      replied(404, { message: '', return_code: 404, error: 'conflict' }),
      'error',
    ],
    ['a header', '/types', {}, replied(200, { types: ['zone'] }), 'the header ETag is missing'],
    ['a path', '/nothing', {}, replied(200, {}), 'no such path'],
    ['a method', '/types', { method: 'POST' }, replied(200, {}), 'no such path'],
    ['an error off the paths', '/nothing', {}, replied(404, { message: '' }), 'return_code'],
  ])('%s', (_, path, ask, reply, fault) => {
    expect(faultsOf(path, ask, reply).join('\n')).toContain(fault);
  });

  test('but not one that is, whatever the body of its request', () => {
    const reply = replied(200, { message: '', return_code: 200 });
    expect(faultsOf('/operations/approve/', post, reply)).toEqual([]);
    expect(faultsOfRequest('/operations/approve/', post, reply)).toEqual([]);
    expect(faultsOfRequest('/operations/approve/', { ...post, body: '{}' }, reply).join()).toContain('digest');
  });
});

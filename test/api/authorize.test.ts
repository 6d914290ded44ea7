// Each role on each route: who may, who may not, and which methods a path has.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROLES, type Role, TYPE_NAMES } from '../../src/model/names.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

const WRITERS: readonly Role[] = ['administrator', 'automation-endpoint'];
const ADMINISTRATOR: readonly Role[] = ['administrator'];

const WRITES: readonly (readonly [string, string, readonly Role[], string])[] = [
  ['POST', '/stacks/instances/shop', WRITERS, 'write stack instances'],
  ['DELETE', '/stacks/instances/shop', WRITERS, 'write stack instances'],
  ['POST', '/stacks/templates', WRITERS, 'write stack instances'],
  ['POST', '/clients', ADMINISTRATOR, 'write clients'],
  ['DELETE', '/clients/0A', ADMINISTRATOR, 'write clients'],
  ['DELETE', '/clients?serial=0A', ADMINISTRATOR, 'write clients'],
  ['POST', '/tree', ADMINISTRATOR, 'write the tree'],
  ...TYPE_NAMES.filter((type) => type !== 'all').flatMap((type) => {
    const isInstance = type === 'stack-instance';
    const right = isInstance ? 'write stack instances' : 'write types';
    const roles = isInstance ? WRITERS : ADMINISTRATOR;
    return [['POST', `/types/${type}`, roles, right] as const, ['DELETE', `/types/${type}/x`, roles, right] as const];
  }),
];

describe.each(WRITES)('%s %s', (method, path, roles, right) => {
  test.each(ROLES)('as %s', async (role) => {
    const identity = api.identities[role];
    const headers = { 'Content-Type': 'application/json' };
    for (const spelling of [path, path.replace(/(\?|$)/, '/$1')]) {
      const before = api.writer.asked.length;
      const { status, body } = await api.request(spelling, { method, identity, headers, body: '{}' });
      if (roles.includes(role)) {
        expect(body).toEqual({ message: expect.any(String), return_code: status });
        expect(status).toBeLessThan(300);
        expect(api.writer.orders.at(-1)?.by.role).toBe(role);
      } else {
        const message = `The role ${role} may not ${right}; that is for ${roles.join(' and ')}`;
        expect({ status, body }).toEqual({ status: 403, body: { message, return_code: 403, error: 'not_allowed' } });
      }
      expect(api.writer.asked.length - before).toBe(roles.includes(role) ? 1 : 0);
    }
  });
});

describe('reading is for every role', () => {
  const paths = [
    '/stacks/instances',
    '/stacks/instances/shop',
    '/stacks/instances/shop/status',
    '/stacks/instances/shop/status/full',
    '/stacks/templates',
    '/stacks/templates/web',
    '/clients',
    '/types',
    '/types/zone',
    '/types/zone/z1',
    '/hiera/all',
    '/hiera/shop-web',
    '/hiera/shop-web/zone',
    '/tree',
  ];
  test.each(ROLES)('%s', async (role) => {
    for (const path of paths) {
      const { status } = await api.request(path, { identity: api.identities[role] });
      expect([path, status]).toEqual([path, 200]);
    }
  });
});

describe('405', () => {
  const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];
  test.each([
    ['/stacks/instances', 'GET, HEAD'],
    ['/stacks/instances/shop', 'GET, HEAD, POST, DELETE'],
    ['/stacks/instances/shop/status', 'GET, HEAD'],
    ['/stacks/instances/shop/status/full', 'GET, HEAD'],
    ['/stacks/templates', 'GET, HEAD, POST'],
    ['/stacks/templates/web', 'GET, HEAD'],
    ['/clients', 'GET, HEAD, POST, DELETE'],
    ['/clients/0A', 'GET, HEAD, DELETE'],
    ['/types', 'GET, HEAD'],
    ['/types/all', 'GET, HEAD'],
    ['/types/all/x', 'GET, HEAD'],
    ['/types/zone', 'GET, HEAD, POST'],
    ['/types/zone/z1', 'GET, HEAD, DELETE'],
    ['/hiera/all', 'GET, HEAD'],
    ['/hiera/shop-web', 'GET, HEAD'],
    ['/hiera/shop-web/zone', 'GET, HEAD'],
    ['/tree', 'GET, HEAD, POST'],
  ])('%s has %s', async (path, allow) => {
    for (const method of METHODS.filter((name) => !allow.split(', ').includes(name))) {
      for (const spelling of [path, `${path}/`]) {
        const { status, headers, body } = await api.request(spelling, { method });
        expect({ status, allow: headers.allow, body }).toEqual({
          status: 405,
          allow,
          body: {
            message: expect.stringMatching(RegExp(`^${method} is not possible on ${spelling}, only ${allow}(?:; |$)`)),
            return_code: 405,
            error: 'method_not_allowed',
          },
        });
      }
    }
  });
});

describe('an unknown type', () => {
  test.each(ROLES)('is 404 for %s, whatever the method', async (role) => {
    const identity = api.identities[role];
    for (const [method, path] of [
      ['POST', '/types/zones'],
      ['DELETE', '/types/zones/z1'],
    ] as const) {
      const { status, body } = await api.request(path, { method, identity });
      const message = 'There is no type "zones"; did you mean "zone"?';
      expect({ status, body }).toEqual({ status: 404, body: { message, return_code: 404, error: 'not_found' } });
    }
    const { body } = await api.request('/types/__proto__', { method: 'POST', identity });
    expect(body).toMatchObject({ message: 'There is no type "__proto__"; GET /types lists all', return_code: 404 });
  });
});

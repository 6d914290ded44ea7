// One test a readable row of the interface, over real TLS, whole bodies.
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TYPE_NAMES } from '../../src/model/names.ts';
import { COMMIT, EXPLAINED, INSTANCE, OID, RECORD, TEMPLATE, TREE, ZONE } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

/** Path, body, and whether the answer is one object that stands in a file. */
const ROWS: readonly (readonly [string, () => unknown, boolean])[] = [
  ['/stacks/instances', () => [INSTANCE], false],
  ['/stacks/instances/shop', () => INSTANCE, true],
  ['/stacks/instances/shop/status', () => 'In progress', false],
  ['/stacks/instances/shop/status/full', () => ({ web: { 'shop-web': { state: 'done' } }, workers: {} }), false],
  ['/stacks/templates', () => [TEMPLATE], false],
  ['/stacks/templates/web', () => TEMPLATE, true],
  ['/clients', () => ({ result: everyClient() }), false],
  ['/types', () => ({ types: TYPE_NAMES }), false],
  ['/types/zone', () => ({ result: [ZONE] }), false],
  ['/types/role', () => ({ result: [] }), false],
  ['/types/all', () => ({ result: [ZONE] }), false],
  ['/types/zone/z1', () => ZONE, true],
  ['/types/all/z1', () => ZONE, true],
  ['/hiera/all', () => ({ 'shop-web': RECORD }), false],
  ['/hiera/shop-web', () => RECORD, false],
  ['/hiera/shop-web/zone', () => 'z1', false],
  ['/hiera/shop-web/cpus', () => 4, false],
  ['/hiera/shop-web/dns', () => ['192.0.2.1'], false],
  ['/hiera/shop-web/profile%3A%3Aweb', () => 'nginx', false],
  ['/tree', () => TREE, true],
];

function everyClient(): unknown[] {
  return [...api.reader.registry.values()].sort((a, b) => (a.serial < b.serial ? -1 : 1));
}

describe.each(ROWS)('GET %s', (path, body, isFile) => {
  test.each([path, `${path}/`])('%s', async (spelling) => {
    const reply = await api.request(spelling);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(body());
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(reply.bytes.length),
      'cache-control': 'no-cache',
      'x-treeline-commit': COMMIT,
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      etag: expect.stringMatching(isFile ? new RegExp(`^"${OID}\\.[\\w-]{22}"$`) : /^"[\w-]{22}"$/),
    });
    for (const name of ['x-powered-by', 'location', 'access-control-allow-origin']) {
      expect(reply.headers).not.toHaveProperty(name);
    }
  });

  test('HEAD answers the same without a body', async () => {
    const got = await api.request(path);
    const head = await api.request(path, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.bytes).toHaveLength(0);
    for (const name of ['etag', 'content-length', 'content-type', 'x-treeline-commit', 'cache-control']) {
      expect(head.headers[name]).toBe(got.headers[name]);
    }
  });

  test('If-None-Match with its tag answers 304', async () => {
    const etag = (await api.request(path)).headers.etag ?? '';
    const reply = await api.request(path, { headers: { 'If-None-Match': etag } });
    expect(reply.status).toBe(304);
    expect(reply.bytes).toHaveLength(0);
    expect(reply.headers).toMatchObject({ etag, 'x-treeline-commit': COMMIT, 'cache-control': 'no-cache' });
    expect(reply.headers).not.toHaveProperty('content-type');
  });
});

describe('GET /clients', () => {
  test.each(['administrator', 'automation-endpoint', 'proxy'] as const)('?role=%s', async (role) => {
    const { status, body } = await api.request(`/clients?role=${role}`);
    const client = api.reader.registry.get(api.identities[role].serial);
    expect({ status, body }).toEqual({ status: 200, body: { result: [client] } });
  });

  test('shows a proxy its own record only', async () => {
    const identity = api.identities.proxy;
    const own = api.reader.registry.get(identity.serial);
    const { body } = await api.request('/clients', { identity });
    expect(body).toEqual({ result: [own] });
    expect((await api.request(`/clients/${identity.serial}`, { identity })).body).toEqual(own);
    const other = await api.request(`/clients/${api.identities.administrator.serial}/`, { identity });
    expect(other).toMatchObject({ status: 403, body: { error: 'not_allowed', return_code: 403 } });
  });

  test.each<[string, (serial: string) => string]>([
    ['as it is', (serial) => serial],
    ['lower case', (serial) => serial.toLowerCase()],
    ['with 0x', (serial) => `0x${serial}`],
    ['with colons', (serial) => serial.replace(/..(?=.)/g, '$&:')],
    ['with encoded colons', (serial) => serial.replace(/..(?=.)/g, '$&%3A')],
    ['with dashes', (serial) => serial.replace(/..(?=.)/g, '$&-')],
  ])('finds one by its serial, %s', async (_name, spell) => {
    const { serial } = api.identities.proxy;
    for (const end of ['', '/']) {
      const { status, body } = await api.request(`/clients/${spell(serial)}${end}`);
      expect({ status, body }).toEqual({ status: 200, body: api.reader.registry.get(serial) });
    }
  });
});

describe('query parameters', () => {
  test.each([
    ['/hiera/all?info=true', { 'shop-web': EXPLAINED }],
    ['/hiera/all/?info=false', { 'shop-web': RECORD }],
    ['/hiera/shop-web/?info=true', EXPLAINED],
    ['/hiera/shop-web?info=false', RECORD],
    ['/hiera/shop-web/zone/?info=true', EXPLAINED.zone],
    ['/hiera/shop-web/zone?info=false', 'z1'],
  ])('%s', async (path, want) => {
    const { status, body } = await api.request(path);
    expect({ status, body }).toEqual({ status: 200, body: want });
  });

  test.each([
    ['/hiera/all?info=', 'The query parameter info is true or false, not ""'],
    ['/hiera/all?info=yes', 'The query parameter info is true or false, not "yes"'],
    ['/hiera/shop-web?info=TRUE', 'The query parameter info is true or false, not "TRUE"'],
    ['/hiera/shop-web/zone?info=%zz', 'The query parameter info is true or false, not "%zz"'],
    ['/hiera/all?info=true&info=true', 'The query parameter info is given more than once'],
    ['/clients?role=proxy&role=proxy', 'The query parameter role is given more than once'],
    ['/clients?role=prox', 'There is no role "prox"; did you mean "proxy"?'],
    ['/clients?role=', 'There is no role ""; the roles are administrator, automation-endpoint, proxy'],
    ['/clients?role=root', 'There is no role "root"; the roles are administrator, automation-endpoint, proxy'],
    [
      '/clients?role=__proto__',
      'There is no role "__proto__"; the roles are administrator, automation-endpoint, proxy',
    ],
  ])('%s is refused', async (path, message) => {
    const { status, body } = await api.request(path);
    expect({ status, body }).toEqual({ status: 400, body: { message, return_code: 400, error: 'invalid_input' } });
  });
});

describe('compression', () => {
  const many = Array.from({ length: 200 }, (_, index) => ({ ...INSTANCE, name: `shop-${index}` }));

  test('is for large answers, when asked for', async () => {
    api.reader.list = many;
    const plain = await api.request('/stacks/instances');
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(plain.body).toEqual(many);
    const small = await api.request('/tree', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(small.headers).not.toHaveProperty('content-encoding');
    const packed = await api.request('/stacks/instances', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(packed.headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: 'Accept-Encoding',
      etag: `W/${plain.headers.etag}`,
    });
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 5);
    expect(JSON.parse(gunzipSync(packed.bytes).toString())).toEqual(many);
    for (const tag of [plain.headers.etag, packed.headers.etag]) {
      const headers = { 'Accept-Encoding': 'gzip', 'If-None-Match': `"other", ${tag}` };
      const unchanged = await api.request('/stacks/instances', { headers });
      expect(unchanged).toMatchObject({ status: 304, headers: { etag: tag, vary: 'Accept-Encoding' } });
    }
    expect(small.headers).toMatchObject({ vary: 'Accept-Encoding' });
    api.reader.list = [INSTANCE];
  });
});

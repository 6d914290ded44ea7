// What reads answer over real TLS: bodies, tags, the cache, query parameters and compression.
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TYPE_NAMES } from '../../src/model/names.ts';
import type { Reply } from '../support/https-client.ts';
import { EVENTS } from '../support/sample-operator.ts';
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
  ['/stacks/instances/shop/events', () => ({ events: EVENTS, gap: true }), false],
];

function everyClient(): unknown[] {
  return [...api.reader.registry.values()].sort((a, b) => (a.serial < b.serial ? -1 : 1));
}

describe.each(ROWS)('GET %s', (path, body, isFile) => {
  test('has the same body, tag and headers from the cache', async () => {
    for (const spelling of [path, `${path}/`]) {
      await api.request(spelling);
      // Nothing is kept for a path with a query.
      const [kept, made] = [await api.request(spelling), await api.request(`${spelling}?`)];
      expect(kept.status).toBe(200);
      expect(kept.body).toEqual(body());
      expect(kept.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(kept.bytes.length),
        'cache-control': 'no-cache',
        'x-treeline-commit': COMMIT,
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
        etag: expect.stringMatching(isFile ? new RegExp(`^"${OID}\\.[\\w-]{22}"$`) : /^"[\w-]{22}"$/),
      });
      for (const name of ['x-powered-by', 'location', 'access-control-allow-origin']) {
        expect(kept.headers).not.toHaveProperty(name);
      }
      expect(comparable(kept)).toEqual(comparable(made));
    }
  });

  test('answers HEAD without a body, and 304 for its ETag', async () => {
    const got = await api.request(path);
    const head = await api.request(path, { method: 'HEAD' });
    expect(comparable(head)).toEqual({ ...comparable(got), text: '' });
    for (const asked of [path, `${path}?`]) {
      const headers = { 'If-None-Match': `"other", ${got.headers.etag}` };
      const reply = await api.request(asked, { headers });
      expect(comparable(reply)).toMatchObject({ status: 304, text: '' });
      expect(reply.headers).toMatchObject({ etag: got.headers.etag, 'x-treeline-commit': COMMIT });
      expect(reply.headers).not.toHaveProperty('content-type');
    }
  });
});

function comparable({ status, headers, bytes }: Reply) {
  const { date: _date, 'x-request-id': _id, ...others } = headers;
  return { status, headers: others, text: bytes.toString() };
}

describe('the cache of answers', () => {
  test('makes an answer once while its sources are the same', async () => {
    const original = api.reader.instances;
    let made = 0;
    onTestFinished(() => void Object.assign(api.reader, { instances: original, list: [INSTANCE] }));
    Object.assign(api.reader, {
      instances() {
        made += 1;
        return original();
      },
    });
    for (const list of [[INSTANCE, INSTANCE], [INSTANCE]]) {
      api.reader.list = list;
      for (let asked = 0; asked < 3; asked += 1) {
        expect((await api.request('/stacks/instances')).body).toEqual(list);
      }
    }
    expect(made).toBe(2);
  });

  test('answers no unregistered client, and nothing before the first valid commit', async () => {
    expect((await api.request('/tree')).status).toBe(200);
    const before = [...api.reader.registry];
    api.reader.registry.clear();
    const refused = await api.request('/tree');
    for (const [serial, client] of before) api.reader.registry.set(serial, client);
    expect(refused).toMatchObject({ status: 403, body: { error: 'client_not_registered' } });
    api.reader.ready = false;
    const early = await api.request('/tree');
    api.reader.ready = true;
    expect(early).toMatchObject({ status: 503, body: { error: 'not_ready' } });
  });

  test('keeps no answer that depends on time or client', async () => {
    const { status, version } = api.reader;
    onTestFinished(() => void Object.assign(api.reader, { status, version }));
    Object.assign(api.reader, { version: () => 'same' });
    expect((await api.request('/stacks/instances/shop/status')).body).toBe('In progress');
    Object.assign(api.reader, { status: () => 'Suspended' });
    expect((await api.request('/stacks/instances/shop/status')).body).toBe('Suspended');
    const others = await api.request('/clients', { identity: api.identities.proxy });
    expect((await api.request('/clients')).body).not.toEqual(others.body);
  });
});

test.each(['administrator', 'automation-endpoint', 'proxy'] as const)('GET /clients?role=%s', async (role) => {
  const { status, body } = await api.request(`/clients?role=${role}`);
  const client = api.reader.registry.get(api.identities[role].serial);
  expect({ status, body }).toEqual({ status: 200, body: { result: [client] } });
});

test('a client is found by its serial with encoded colons, by a proxy only its own', async () => {
  const identity = api.identities.proxy;
  const own = api.reader.registry.get(identity.serial);
  for (const end of ['', '/']) {
    const path = `/clients/${identity.serial.replace(/..(?=.)/g, '$&%3A')}${end}`;
    for (const asked of [{}, { identity }])
      expect(await api.request(path, asked)).toMatchObject({ status: 200, body: own });
  }
  const other = await api.request(`/clients/${api.identities.administrator.serial}/`, { identity });
  expect(other).toMatchObject({ status: 403, body: { error: 'not_allowed', return_code: 403 } });
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
    ['/hiera/shop-web?info=TRUE', 'The query parameter info is true or false, not "TRUE"'],
    ['/hiera/shop-web/zone?info=%zz', 'The query parameter info is true or false, not "%zz"'],
    ['/hiera/all?info=true&info=true', 'The query parameter info is given more than once'],
    ['/clients?role=prox', 'There is no role "prox"; did you mean "proxy"?'],
    ['/clients?role=root', 'There is no role "root"; the roles are administrator, automation-endpoint, proxy'],
    [
      '/clients?role=__proto__',
      'There is no role "__proto__"; the roles are administrator, automation-endpoint, proxy',
    ],
    ...['after=-1', 'after=1.5', 'after=', 'after=9007199254740992'].map((query) => [
      `/stacks/instances/shop/events?${query}`,
      'The query parameter after is a whole number from 0 to 9007199254740991',
    ]),
    ['/operations/events?limit=1001', 'The query parameter limit is a whole number from 1 to 1000'],
    ['/operations/events?limit=ten', 'The query parameter limit is a whole number from 1 to 1000'],
    ['/operations/servers?limit=501', 'The query parameter limit is a whole number from 1 to 500'],
    ['/operations/servers?state=don', 'There is no state "don"; did you mean "done"?'],
    ['/operations/servers?search=a&search=b', 'The query parameter search is given more than once'],
    [`/operations/servers?search=${'a'.repeat(251)}`, 'A name has at most 250 characters'],
  ])('%s is refused', async (path, message) => {
    const { status, body } = await api.request(path);
    expect({ status, body }).toEqual({ status: 400, body: { message, return_code: 400, error: 'invalid_input' } });
  });
});

test('a page of servers has an ETag', async () => {
  const path = '/operations/servers?state=done,marked%20for%20delete&instance=shop&limit=500';
  const first = await api.request(path);
  expect(first).toMatchObject({ status: 200, body: { servers: [{ name: 'shop-web' }], total: 1, next: null } });
  const again = await api.request(path, { headers: { 'If-None-Match': String(first.headers.etag) } });
  expect(again.status).toBe(304);
});

describe('compression of answers', () => {
  const many = Array.from({ length: 200 }, (_, index) => ({ ...INSTANCE, name: `shop-${index}` }));

  test('is used for large answers if requested', async () => {
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

// Reads that are answered with what was kept beside those that are made: both send the same, and only what is still true.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../src/model/objects.ts';
import { INSTANCE } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

/** Nothing is kept under a path with a query. */
const MADE = '?';

async function both(path: string, headers: Readonly<Record<string, string>> = {}): Promise<readonly unknown[]> {
  await api.request(path);
  const replies = [await api.request(path, { headers }), await api.request(`${path}${MADE}`, { headers })];
  return replies.map(({ status, headers: { date: _, 'x-request-id': id, ...others }, bytes }) => {
    return { status, others, bytes: bytes.toString(), hasId: typeof id === 'string' };
  });
}

describe.each([
  '/hiera/shop-web',
  '/hiera/shop-web/zone',
  '/hiera/shop-web/cpus',
  '/hiera/shop-web/dns/',
  '/stacks/instances',
  '/stacks/instances/shop/',
  '/stacks/instances/shop/status/full',
  '/stacks/templates/',
  '/stacks/templates/web',
  '/types/zone',
  '/types/all/',
  '/types/zone/z1/',
  '/tree',
])('GET %s', (path) => {
  it('is the same kept as made, with the same headers', async () => {
    const [kept, made] = await both(path);
    expect(kept).toMatchObject({ status: 200, hasId: true });
    expect(kept).toEqual(made);
  });

  it('is unchanged for who has it', async () => {
    const tag = String((await api.request(path)).headers.etag);
    const [kept, made] = await both(path, { 'If-None-Match': `"other", W/${tag}` });
    expect(kept).toMatchObject({ status: 304, bytes: '' });
    expect(kept).toEqual(made);
  });
});

it.each([
  '/hiera/nobody',
  '/hiera/shop-web/nothing',
  '/hiera/all',
  '/hiera/all/zone',
  '/hiera/..',
  '/hiera/__proto__',
  '/stacks/instances/nothing',
  '/stacks/instances/shop/status',
  '/stacks/instances/shop//status/full',
  '/stacks/templates/nothing',
  '/types/__proto__',
  '/types/zone/nothing',
  '/types',
  '/clients',
])('GET %s is answered alike each time', async (path) => {
  const [kept, made] = await both(path);
  expect(kept).toEqual(made);
});

it('a certificate that is registered no more gets nothing, though the answer is kept', async () => {
  expect((await api.request('/hiera/shop-web')).status).toBe(200);
  const before = [...api.reader.registry];
  api.reader.registry.clear();
  const refused = await api.request('/hiera/shop-web');
  for (const [serial, client] of before) api.reader.registry.set(serial, client);
  expect(refused).toMatchObject({ status: 403, body: { error: 'client_not_registered' } });
});

/** Returns how often the reader was asked for an answer. */
async function countMade(method: 'instances' | 'instance' | 'tree', ask: () => Promise<unknown>): Promise<number> {
  const original = api.reader[method] as (...names: readonly string[]) => unknown;
  let made = 0;
  Object.assign(api.reader, {
    [method](...names: readonly string[]) {
      made += 1;
      return original(...names);
    },
  });
  await ask();
  Object.assign(api.reader, { [method]: original });
  return made;
}

it('an answer is made once for as long as its sources are the same', async () => {
  const ask = (): Promise<unknown> => api.request('/stacks/instances');
  api.reader.list = [INSTANCE, INSTANCE];
  expect(await countMade('instances', () => ask().then(ask).then(ask))).toBe(1);
  api.reader.list = [INSTANCE];
  expect(await countMade('instances', () => ask().then(ask))).toBe(1);
  expect((await api.request('/stacks/instances')).body).toEqual([INSTANCE]);
});

it('a large answer is packed, kept or made', async () => {
  api.reader.list = Array.from({ length: 50 }, () => INSTANCE);
  const [kept, made] = await both('/stacks/instances', { 'Accept-Encoding': 'gzip' });
  expect(kept).toMatchObject({
    status: 200,
    others: { 'content-encoding': 'gzip', etag: expect.stringMatching(/^W/) },
  });
  expect(kept).toEqual(made);
  const [plain, plainlyMade] = await both('/stacks/instances');
  expect(plain).toEqual(plainlyMade);
  api.reader.list = [INSTANCE];
});

it('a failure is answered and logged once', async () => {
  api.reader.fault = new Error('the tree fell');
  const before = api.lines.length;
  const failed = await api.request('/tree');
  api.reader.fault = undefined;
  expect(failed).toMatchObject({ status: 500, body: { error: 'internal' } });
  expect(api.lines.slice(before).filter((line) => line.includes('the tree fell'))).toHaveLength(1);
});

it('before the first good commit nothing is answered, though it is kept', async () => {
  expect((await api.request('/tree')).status).toBe(200);
  api.reader.ready = false;
  const refused = await api.request('/tree');
  api.reader.ready = true;
  expect(refused).toMatchObject({ status: 503, body: { error: 'not_ready' } });
});

it('what depends on the time or on the client is made each time', async () => {
  const status = api.reader.status('shop');
  Object.assign(api.reader, { status: () => status, clients: (by: Client) => [by] });
  let version = 0;
  const original = api.reader.version;
  // As if nothing had changed.
  Object.assign(api.reader, { version: () => `same ${version}` });
  expect((await api.request('/stacks/instances/shop/status')).body).toBe('In progress');
  Object.assign(api.reader, { status: () => 'Suspended' });
  expect((await api.request('/stacks/instances/shop/status')).body).toBe('Suspended');
  const mine = await api.request('/clients');
  const others = await api.request('/clients', { identity: api.identities.proxy });
  expect(mine.body).not.toEqual(others.body);
  version += 1;
  Object.assign(api.reader, { version: original });
});

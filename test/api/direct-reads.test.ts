// Reads without the router beside the routes: both send the same, and only what is still true.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTANCE } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

/** A query leads past the quick way. */
const ROUTED = '?';

async function both(path: string, headers: Readonly<Record<string, string>> = {}): Promise<readonly unknown[]> {
  const replies = [await api.request(path, { headers }), await api.request(`${path}${ROUTED}`, { headers })];
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
  it('is answered as the routes answer it, with the same headers', async () => {
    const [direct, routed] = await both(path);
    expect(direct).toMatchObject({ status: 200, hasId: true });
    expect(direct).toEqual(routed);
  });

  it('is unchanged for who has it', async () => {
    const tag = String((await api.request(path)).headers.etag);
    const [direct, routed] = await both(path, { 'If-None-Match': `"other", W/${tag}` });
    expect(direct).toMatchObject({ status: 304, bytes: '' });
    expect(direct).toEqual(routed);
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
])('GET %s is left to the routes', async (path) => {
  const [direct, routed] = await both(path);
  expect(direct).toEqual(routed);
});

it('a certificate that is registered no more gets nothing, though the answer is kept', async () => {
  expect((await api.request('/hiera/shop-web')).status).toBe(200);
  const before = [...api.reader.registry];
  api.reader.registry.clear();
  const refused = await api.request('/hiera/shop-web');
  for (const [serial, client] of before) api.reader.registry.set(serial, client);
  expect(refused).toMatchObject({ status: 403, body: { error: 'client_not_registered' } });
});

/** The paths of which the routes make an answer, and the direct way a look-up. */
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

it('a large answer is packed as the routes pack it', async () => {
  api.reader.list = Array.from({ length: 50 }, () => INSTANCE);
  const [direct, routed] = await both('/stacks/instances', { 'Accept-Encoding': 'gzip' });
  expect(direct).toMatchObject({
    status: 200,
    others: { 'content-encoding': 'gzip', etag: expect.stringMatching(/^W/) },
  });
  expect(direct).toEqual(routed);
  const [plain, plainlyRouted] = await both('/stacks/instances');
  expect(plain).toEqual(plainlyRouted);
  api.reader.list = [INSTANCE];
});

it('a failure is answered and logged once, by the routes', async () => {
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

it('an answer above 4 MiB is not kept, and takes no room from those that are', async () => {
  const { findNode } = api.reader;
  const sources = [{}, undefined] as const;
  const computed: string[] = [];
  const nodeOf = (name: string) => ({
    ...{ name, sources, explained: () => ({}), value: () => undefined },
    record() {
      computed.push(name);
      return { name, text: name === 'small' ? '' : 'x'.repeat(9 * 1024 * 1024) };
    },
  });
  Object.assign(api.reader, { findNode: nodeOf });
  for (const name of ['small', 'big-1', 'big-2', 'big-3', 'big-4', 'small', 'big-4'])
    await api.request(`/hiera/${name}`);
  Object.assign(api.reader, { findNode });
  expect(computed).toEqual(['small', 'big-1', 'big-2', 'big-3', 'big-4', 'big-4']);
});

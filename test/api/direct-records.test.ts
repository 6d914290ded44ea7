// The quick way of records beside the routes: both send the same, and only what is still true.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

describe.each(['/hiera/shop-web', '/hiera/shop-web/zone', '/hiera/shop-web/cpus', '/hiera/shop-web/dns'])(
  'GET %s',
  (path) => {
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
  },
);

it.each(['/hiera/nobody', '/hiera/shop-web/nothing', '/hiera/all', '/hiera/all/zone', '/hiera/..', '/hiera/__proto__'])(
  'GET %s is left to the routes',
  async (path) => {
    const [direct, routed] = await both(path);
    expect(direct).toEqual(routed);
  },
);

it('a certificate that is registered no more gets nothing, though the answer is kept', async () => {
  expect((await api.request('/hiera/shop-web')).status).toBe(200);
  const before = [...api.reader.registry];
  api.reader.registry.clear();
  const refused = await api.request('/hiera/shop-web');
  for (const [serial, client] of before) api.reader.registry.set(serial, client);
  expect(refused).toMatchObject({ status: 403, body: { error: 'client_not_registered' } });
});

it('a record that is left to the routes, which pack it, takes no room from those that are kept', async () => {
  const { findNode } = api.reader;
  const sources = [{}, undefined] as const;
  let computed = 0;
  const nodeOf = (name: string) => ({
    ...{ name, sources, explained: () => ({}), value: () => undefined },
    record() {
      computed += 1;
      return { name, text: name === 'small' ? '' : 'x'.repeat(9 * 1024 * 1024) };
    },
  });
  Object.assign(api.reader, { findNode: nodeOf });
  for (const name of ['small', 'big-1', 'big-2', 'big-3', 'big-4', 'small', 'big-4'])
    await api.request(`/hiera/${name}`);
  Object.assign(api.reader, { findNode });
  expect(computed).toBe(5);
});

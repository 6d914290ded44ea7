// The events of an instance over real TLS: pages, and values that are wrong. docs/rest.md, stack instances.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLES } from '../../src/model/names.ts';
import type { InstanceEvents } from '../../src/service/answers.ts';
import { EVENTS } from '../support/sample-operator.ts';
import { COMMIT } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

const PATH = '/stacks/instances/shop/events';

test.each(ROLES)('%s reads them', async (role) => {
  for (const path of [PATH, `${PATH}/`]) {
    const { status, body, headers } = await api.request(path, { identity: api.identities[role] });
    expect({ status, body }).toEqual({ status: 200, body: { events: EVENTS, gap: true } });
    expect(headers).toMatchObject({ 'x-treeline-commit': COMMIT, 'cache-control': 'no-cache' });
  }
});

test('come in pages: after the last one there is nothing, and no gap', async () => {
  const ids: number[] = [];
  for (let after = 2; ids.length < 20; ) {
    const { body } = await api.request(`${PATH}?after=${after}&limit=2`);
    const { events, gap } = body as unknown as InstanceEvents;
    expect(gap).toBe(false);
    if (events.length === 0) break;
    ids.push(...events.map(({ id }) => id));
    after = ids.at(-1) ?? after;
  }
  expect(ids).toEqual([3, 4, 5, 6, 7]);
});

test('are answered by 304 while there is nothing new', async () => {
  const { headers } = await api.request(PATH);
  const again = await api.request(PATH, { headers: { 'If-None-Match': String(headers.etag) } });
  expect(again.status).toBe(304);
});

test.each([
  ['after=-1', 'The query parameter after is a whole number from 0 to 9007199254740991'],
  ['after=1.5', 'The query parameter after is a whole number from 0 to 9007199254740991'],
  ['after=', 'The query parameter after is a whole number from 0 to 9007199254740991'],
  ['after=9007199254740992', /^The query parameter after is a whole number/],
  ['after=1&after=2', 'The query parameter after is given more than once'],
  ['limit=0', 'The query parameter limit is a whole number from 1 to 1000'],
  ['limit=1001', 'The query parameter limit is a whole number from 1 to 1000'],
  ['limit=ten', 'The query parameter limit is a whole number from 1 to 1000'],
])('?%s is refused', async (query, message) => {
  const { status, body } = await api.request(`${PATH}?${query}`);
  const text = typeof message === 'string' ? message : expect.stringMatching(message);
  expect({ status, body }).toEqual({ status: 400, body: { message: text, return_code: 400, error: 'invalid_input' } });
});

test('of an instance that never was are 404, and cannot be written', async () => {
  expect((await api.request('/stacks/instances/other/events')).status).toBe(404);
  expect((await api.request(PATH, { method: 'DELETE' })).status).toBe(405);
});

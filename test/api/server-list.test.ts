// What the routes of servers take and refuse, over real TLS.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

test('a page of servers has a tag, and is not sent again', async () => {
  const first = await api.request('/operations/servers?state=done,marked%20for%20delete&instance=shop&limit=500');
  expect(first).toMatchObject({ status: 200, body: { servers: [{ name: 'shop-web' }], total: 1, next: null } });
  const again = await api.request('/operations/servers', { headers: { 'If-None-Match': String(first.headers.etag) } });
  expect(again.status).toBe(304);
});

test.each([
  ['limit=501', 'The query parameter limit is a whole number from 1 to 500'],
  ['limit=0', 'The query parameter limit is a whole number from 1 to 500'],
  ['state=don', 'There is no state "don"; did you mean "done"?'],
  ['state=done,,', 'There is no state "";'],
  ['search=a&search=b', 'The query parameter search is given more than once'],
  [`search=${'a'.repeat(251)}`, 'A name has at most 250 characters'],
])('%s is refused', async (query, message) => {
  expect(await api.request(`/operations/servers?${query}`)).toMatchObject({
    ...{ status: 400, body: { error: 'invalid_input', message: expect.stringContaining(message) } },
  });
});

test('a server that is not there is 404', async () => {
  expect(await api.request('/operations/servers/shop-wep')).toMatchObject({ status: 404 });
});

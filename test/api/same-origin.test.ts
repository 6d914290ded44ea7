// Tests the requests that a page of another site can make a browser send with an administrator's certificate.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refuseForeignOrigin } from '../../src/api/request-steps.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

test.each([
  ['a foreign page', { origin: 'https://evil.example' }, false],
  ['a page without an origin', { origin: 'null' }, false],
  ['a page over plain HTTP', { origin: 'http://127.0.0.1:8443' }, false],
  ['another port of this host', { origin: 'https://127.0.0.1' }, false],
  ['a page of another site, as the browser says', { 'sec-fetch-site': 'cross-site' }, false],
  ['its own page', { origin: 'https://127.0.0.1:8443', 'sec-fetch-site': 'same-origin' }, true],
  ['no page', { 'sec-fetch-site': 'none' }, true],
  ['a program', {}, true],
])('refuseForeignOrigin judges a change by %s', (_, headers, isTaken) => {
  for (const method of ['POST', 'DELETE', 'PUT', 'GET', 'HEAD']) {
    const judged = (): void => {
      const request = { method, headers: { host: '127.0.0.1:8443', ...headers } };
      refuseForeignOrigin(request as unknown as Parameters<typeof refuseForeignOrigin>[0], undefined, () => undefined);
    };
    if (isTaken || ['GET', 'HEAD'].includes(method)) judged();
    else expect(judged).toThrow(expect.objectContaining({ code: 'foreign_origin' }));
  }
});

test('a foreign page changes nothing, and cannot read the answer', async () => {
  const Origin = 'https://evil.example';
  const headers = { 'Content-Type': 'application/json', Origin };
  for (const [method, path] of [
    ['POST', '/operations/suspend'],
    ['POST', '/types/zone'],
    ['DELETE', '/clients/0A'],
  ] as const) {
    const answer = await api.request(path, { method, headers, ...(method === 'POST' && { body: '{}' }) });
    expect(answer).toMatchObject({ status: 403, body: { error: 'foreign_origin', return_code: 403 } });
  }
  expect([...api.writer.asked, ...api.operator.asked]).toEqual([]);
  const read = await api.request('/tree', { headers: { Origin } });
  expect(read.status).toBe(200);
  expect(Object.keys(read.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
});

// Tests the requests that a page of another site can make a browser send with an administrator's certificate.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Ask } from '../support/https-client.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());
beforeEach(() => {
  api.writer.asked.length = 0;
  api.operator.asked.length = 0;
});

const JSON_TYPE = { 'Content-Type': 'application/json' };
const CHANGES: readonly (readonly [method: string, path: string])[] = [
  ['POST', '/operations/suspend'],
  ['POST', '/types/zone'],
  ['DELETE', '/clients/0A'],
];

async function ask(method: string, path: string, rest: Ask) {
  const { status, body } = await api.request(path, { method, ...rest });
  return { status, body, asked: [...api.writer.asked, ...api.operator.asked].length };
}

describe.each(CHANGES)('%s %s', (method, path) => {
  const body = method === 'DELETE' ? {} : { body: '{}' };
  test.each(['https://evil.example', 'null', 'http://127.0.0.1', 'https://127.0.0.1', 'https://127.0.0.1:1'])(
    'is refused from a page of %s',
    async (origin) => {
      const answer = await ask(method, path, { headers: { ...JSON_TYPE, Origin: origin }, ...body });
      expect(answer).toMatchObject({ status: 403, body: { error: 'foreign_origin', return_code: 403 }, asked: 0 });
    },
  );

  test('is refused where the browser says that it is for another site', async () => {
    const headers = { ...JSON_TYPE, 'Sec-Fetch-Site': 'cross-site' };
    expect(await ask(method, path, { headers, ...body })).toMatchObject({ status: 403, asked: 0 });
  });

  test.each<[string, (own: string) => Record<string, string>]>([
    ['its own pages', (own) => ({ Origin: own, 'Sec-Fetch-Site': 'same-origin' })],
    ['no page', () => ({ 'Sec-Fetch-Site': 'none' })],
    ['a program', () => ({})],
  ])('is taken from %s', async (_name, headersOf) => {
    const headers = { ...JSON_TYPE, ...headersOf(`https://127.0.0.1:${api.server.port}`) };
    expect(await ask(method, path, { headers, ...body })).toMatchObject({ asked: 1 });
  });
});

test('reading is possible from everywhere, as no page is shown the answer', async () => {
  const { status, headers } = await api.request('/tree', { headers: { Origin: 'https://evil.example' } });
  expect(status).toBe(200);
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
});

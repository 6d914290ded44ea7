// `X-Treeline-Min-Commit` over real TLS: which reads wait, and what they are answered.
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '../../src/model/service-error.ts';
import { COMMIT } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());
beforeEach(() => {
  api.commits.asked.length = 0;
});

const OID = '0123456789abcdef0123456789abcdef01234567';

function ask(path: string, commit: string, method = 'GET') {
  return api.request(path, { method, headers: { 'X-Treeline-Min-Commit': commit } });
}

/** Has waiting end differently until the test is over. */
function reached(end: (commit: string) => Promise<void>): void {
  const before = api.commits.reached;
  onTestFinished(() => {
    api.commits.reached = before;
  });
  api.commits.reached = end;
}

describe('a read', () => {
  test.each(['/tree/', '/operations/status'])('%s waits for the commit that it names', async (path) => {
    for (const method of ['GET', 'HEAD']) expect((await ask(path, OID, method)).status).toBe(200);
    expect(api.commits.asked).toEqual([OID, OID]);
    expect((await api.request(path)).headers['x-treeline-commit']).toBe(COMMIT);
    expect(api.commits.asked).toHaveLength(2);
  });

  test.each(['', OID.slice(1), OID.toUpperCase(), 'main'])('with the commit "%s" is 400', async (commit) => {
    const message = `X-Treeline-Min-Commit has to be the full id of one commit, 40 hexadecimal digits, not "${commit}"`;
    const { status, body } = await ask('/tree/', commit);
    expect({ status, body }).toEqual({ status: 400, body: { message, return_code: 400, error: 'invalid_input' } });
    expect(api.commits.asked).toEqual([]);
  });

  test.each<[code: 'not_ready' | 'invalid_input', status: number, retryAfter: string | undefined]>([
    ['not_ready', 503, '5'],
    ['invalid_input', 400, undefined],
  ])('whose wait ends with %s is %d', async (code, status, retryAfter) => {
    reached(() => Promise.reject(new ServiceError(code, 'not there')));
    const reply = await ask('/tree/', OID);
    expect({ status: reply.status, body: reply.body }).toEqual({
      status,
      body: { message: 'not there', return_code: status, error: code },
    });
    expect(reply.headers['retry-after']).toBe(retryAfter);
  });
});

test('a write does not wait for the commit', async () => {
  const headers = { 'Content-Type': 'application/json', 'X-Treeline-Min-Commit': 'nonsense' };
  const reply = await api.request('/operations/resume', { method: 'POST', headers, body: '{}' });
  expect(reply.status).toBe(200);
  expect(api.commits.asked).toEqual([]);
});

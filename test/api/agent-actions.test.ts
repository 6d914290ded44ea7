// The list of actions for proxies over real TLS: how large an answer may become.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentAction } from '../../src/service/agent.ts';
import { ACTION } from '../support/sample-agent.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

const MEBIBYTE = 1024 * 1024;

/** Returns how many actions an answer has where this many are offered, each with a record of this size. */
async function answered(count: number, bytes: number): Promise<number> {
  const action: AgentAction = { ...ACTION, record: { text: 'x'.repeat(bytes) } };
  api.agent.actions = () => Array.from({ length: count }, () => action);
  const { status, body } = await api.request('/agent/actions?limit=100', { identity: api.identities.proxy });
  expect(status).toBe(200);
  return (body as unknown as { readonly actions: readonly unknown[] }).actions.length;
}

test('an answer has at most 8 MiB, however large the records are, and at least one action', async () => {
  expect(await answered(100, 10)).toBe(100);
  expect(await answered(100, MEBIBYTE)).toBe(7);
  expect(await answered(100, MEBIBYTE / 4)).toBe(31);
  expect(await answered(2, 9 * MEBIBYTE)).toBe(1);
  expect(await answered(0, 0)).toBe(0);
});

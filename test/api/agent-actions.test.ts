// What proxies ask for and report over real TLS: how large an answer may become, and what a large report may cost.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentAction } from '../../src/agents/agent.ts';
import { ACTION } from '../support/sample-parts.ts';
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

test('GET /agent/actions answers at most 8 MiB and at least one action', async () => {
  expect(await answered(100, 10)).toBe(100);
  expect(await answered(9, MEBIBYTE)).toBe(7);
  expect(await answered(2, 9 * MEBIBYTE)).toBe(1);
  expect(await answered(0, 0)).toBe(0);
});

/** A report with so many entries in each of its two objects, each of this many characters. */
function reportWith(count: number, length: number): object {
  const entriesOf = (letter: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${letter}${index}`, 'x'.repeat(length)]));
  return { lease: 'secret', entry: 'lab', outcome: 'done', outputs: entriesOf('o'), observed: entriesOf('p') };
}

async function send(path: string, report: object) {
  const body = JSON.stringify(report);
  const headers = { 'content-type': 'application/json' };
  return await api.request(path, { method: 'POST', identity: api.identities.proxy, headers, body });
}

test('a report accepts as many entries as an answer may have', async () => {
  const path = `/agent/actions/${ACTION.id}/report`;
  expect((await send(path, reportWith(1000, 10))).status).toBe(200);
  api.agent.asked.length = 0;
  expect((await send(path, reportWith(1001, 0))).status).toBe(400);
  expect(api.agent.asked).toEqual([]);
});

// The share of each client over real TLS: what one asks for keeps no other waiting.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { HeldItem } from '../../src/service/answers.ts';
import { heldList } from '../support/held-list.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const HELD: HeldItem = {
  kind: 'deletes',
  digest: 'a',
  instance: 'shop',
  reason: 'too many',
  since: '2026-01-01T00:00:00.000Z',
  resources: [],
  commit: null,
  author: null,
  check: 'treeline plan',
};

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

/** Has the lists of recorded servers written only once they are released, and counts those that were asked for. */
function holdLists(): { readonly asked: () => number; readonly release: () => void } {
  const { recorded } = api.operator;
  let asked = 0;
  let isHeld = true;
  onTestFinished(() => void Object.assign(api.operator, { recorded }));
  api.operator.recorded = (by) => {
    asked += 1;
    return { ...recorded(by), held: heldList([HELD], () => isHeld) };
  };
  return {
    asked: () => asked,
    release: () => {
      isHeld = false;
    },
  };
}

const RECORDED = '/operations/recorded';
const EVENTS = '/stacks/instances/shop/events';

test('a client with waiting lists does not delay other clients', async () => {
  const { asked, release } = holdLists();
  const { proxy: low, administrator: other } = api.identities;
  const { actions } = api.agent;
  onTestFinished(() => void Object.assign(api.agent, { actions }));
  let offered = 0;
  api.agent.actions = (...given) => {
    offered += 1;
    return actions(...given);
  };
  const waiting = [
    api.request(RECORDED, { identity: low }),
    ...['/types/role', '/stacks/instances', '/hiera/all', EVENTS, '/agent/actions?wait=0'].map((path) =>
      api.request(path, { identity: low }),
    ),
  ];
  await expect.poll(asked).toBe(1);
  for (const path of ['/types/role', '/stacks/instances', '/hiera/all', '/hiera/all?info=true', EVENTS]) {
    expect((await api.request(path, { identity: other })).status).toBe(200);
  }
  expect(offered).toBe(0);
  release();
  for (const reply of await Promise.all(waiting)) expect(reply.status).toBe(200);
});

test('a list requested several times while it waits is made once', async () => {
  const { asked, release } = holdLists();
  const first = api.request(RECORDED);
  await expect.poll(asked).toBe(1);
  let arrived = 0;
  const count = (): void => {
    arrived += 1;
  };
  subscribe('http.server.request.start', count);
  onTestFinished(() => void unsubscribe('http.server.request.start', count));
  const others = Array.from({ length: 20 }, () => api.request(RECORDED));
  const elsewhere = api.request(RECORDED, { identity: api.identities['automation-endpoint'] });
  await expect.poll(() => [asked(), arrived], { timeout: 30_000 }).toEqual([2, 21]);
  release();
  const replies = await Promise.all([first, elsewhere, ...others]);
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect(asked()).toBe(3);
});

test('incomplete bodies of one client do not delay those of others', async () => {
  const { proxy, administrator } = api.identities;
  const path = '/agent/actions/x/heartbeat';
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000`;
  const begun = Array.from({ length: 8 }, () => connect({ host: '127.0.0.1', ...api.server, ...proxy }));
  for (const socket of begun) {
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined).write(`${head}\r\n\r\n{`);
    await once(socket, 'secureConnect');
  }
  // On the same listener, so that the requests before it are there.
  expect((await api.request('/tree', { identity: proxy })).status).toBe(200);
  const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' };
  let isAnswered = false;
  const own = api.request(path, { ...post, identity: proxy }).then(({ status }) => {
    isAnswered = true;
    return status;
  });
  expect((await api.request('/operations/resume', { ...post, identity: administrator })).status).toBe(200);
  expect(isAnswered).toBe(false);
  begun[0]?.destroy();
  expect(await own).toBeLessThan(500);
});

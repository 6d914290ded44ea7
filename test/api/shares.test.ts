// The share of each client over real TLS: what one asks for keeps no other waiting.
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Credential } from '../../src/base/development-pki.ts';
import type { HeldItem } from '../../src/service/answers.ts';
import { heldList } from '../support/held-list.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const HELD: HeldItem = {
  ...{ kind: 'deletes', digest: 'a', instance: 'shop', reason: 'too many', since: '2026-01-01T00:00:00.000Z' },
  ...{ resources: [], commit: null, author: null, check: 'treeline plan' },
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

test('one client with a list at work and others waiting keeps no other client from lists, records and events', async () => {
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

test('more of a client than may wait is 429, with the time after which to ask again, and others are answered', async () => {
  const { events } = api.operator;
  const opened = Promise.withResolvers<void>();
  onTestFinished(() => void Object.assign(api.operator, { events }));
  api.operator.events = async (by, ...more) => {
    if (by.role === 'proxy') await opened.promise;
    return await events(by, ...more);
  };
  const ask = (after: number) => api.request(`${EVENTS}?after=${after}`, { identity: api.identities.proxy });
  const refused: number[] = [];
  const all = Array.from({ length: 105 }, async (_, after) => {
    const reply = await ask(after);
    if (reply.status === 429) refused.push(after);
    return reply;
  });
  await expect.poll(() => refused.length, { timeout: 20_000 }).toBe(4);
  expect((await api.request(EVENTS)).status).toBe(200);
  const tooMany = await ask(1_000);
  const { serial } = api.identities.proxy;
  const tells = api.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'a client is over its share');
  expect(tells[0]).toMatchObject({
    level: 40,
    client: serial,
    serial,
    reason: expect.stringMatching(/^too many/i),
  });
  expect(tells.length).toBeLessThan(4);
  expect(tooMany).toMatchObject({ status: 429, body: { error: 'too_many_requests' }, headers: { 'retry-after': '5' } });
  opened.resolve();
  const replies = await Promise.all(all);
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(101);
});

/** Begins that many bodies of which one byte has come, and resolves once the server has their heads. */
async function beginBodies(count: number, { key, cert }: Credential): Promise<readonly TLSSocket[]> {
  const type = 'Host: x\r\nContent-Type: application/json\r\nContent-Length: 1000000';
  const begun = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ host: '127.0.0.1', ...api.server, key, cert });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined).write(`POST /agent/actions/x/heartbeat HTTP/1.1\r\n${type}\r\n\r\n{`);
      await once(socket, 'secureConnect');
      return socket.resume();
    }),
  );
  // On the same listener, so that the requests before it are there.
  expect((await api.request('/tree', { identity: { key, cert } })).status).toBe(200);
  return begun;
}

test('bodies of one client that do not arrive leave those of others to be read, and its own wait for their turn', async () => {
  const { proxy, administrator } = api.identities;
  const path = '/agent/actions/x/heartbeat';
  const begun = await beginBodies(8, proxy);
  const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"lease":"l"}' };
  let isAnswered = false;
  const own = api.request(path, { ...post, identity: proxy }).then(({ status }) => {
    isAnswered = true;
    return status;
  });
  const other = { ...post, body: '{}', identity: administrator };
  expect((await api.request('/operations/resume', other)).status).toBe(200);
  expect(isAnswered).toBe(false);
  begun[0]?.destroy();
  expect(await own).toBeLessThan(500);
});

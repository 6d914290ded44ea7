// Several replicas on one real PostgreSQL, in one process: one leads, all answer, and another one goes on where that ends.

import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { type Controller, startController } from '../../src/compose.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { EventView, ListedEvents } from '../../src/service/answers.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { itInFull } from '../support/count-runs.ts';
import { describedClient } from '../support/described-client.ts';
import { type ReadStream, readStream } from '../support/event-stream.ts';
import { createHttpsClient, type HttpsClient, type Identity } from '../support/https-client.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { withProvider } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';

const PATIENCE = { timeout: 30_000, interval: 50 };
const LEASE_SECONDS = 8;

vi.setConfig({ testTimeout: 120_000 });

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

/** One replica, as its clients and its operator see it. */
interface Running {
  readonly name: string;
  readonly controller: Controller;
  readonly client: HttpsClient;
  readonly lines: JsonMap[];
  health(path: string): Promise<{ readonly status: number; readonly message: string }>;
}

const instance = (name: string): string => `stackTemplate: web\nparameters: { name: ${name} }\n`;

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'types/common/global.yaml': 'motd: hello\n',
  'stacks/templates/web.yaml':
    'parameters: { name: "" }\nresources:\n  web:\n    type: Platform::Server\n    properties: { name: "<<name>>" }\n',
  'stacks/instances/shop.yaml': instance('shop-web'),
};

async function start(site: Site, url: string, name: string, createMs = 15): Promise<Running> {
  const settings = withProvider({ createMs })(await loadSettings(site.config, {}));
  const directory = join(site.folder, `state-${name}`);
  mkdirSync(directory, { mode: 0o700, recursive: true });
  const place = { kind: 'settings', url, file: site.config } as const;
  const store = { kind: 'postgres', directory, url: place, caFile: null, poolSize: 4 } as const;
  const lines: JsonMap[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const replica = { name, address: null, leaseSeconds: LEASE_SECONDS };
  const controller = await startController({ ...settings, store, replica }, { log });
  onTestFinished(() => controller.stop());
  const server = { port: controller.api.port, ca: site.ca };
  const client = describedClient(createHttpsClient(server, site.administrator), true);
  const health = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${controller.management.port}${path}`);
    return { status: answer.status, ...((await answer.json()) as { readonly message: string }) };
  };
  return { name, controller, client, lines, health };
}

/** Returns the certificate of a second client, and its serial number. */
function clientOfSite({ folder }: Site): { readonly ours: Identity; readonly serial: string } {
  const read = (ending: string): string => readFileSync(join(folder, 'pki', `automation-endpoint.${ending}`), 'utf8');
  const ours = { key: read('key'), cert: read('crt') };
  return { ours, serial: new X509Certificate(ours.cert).serialNumber };
}

async function leaderOf(replicas: readonly Running[]): Promise<readonly string[]> {
  const statuses = await Promise.all(replicas.map(({ health }) => health('/leaderz')));
  return replicas.filter((_replica, index) => statuses[index]?.status === 200).map(({ name }) => name);
}

/** Resolves with the one that leads, and the others. */
async function roles(replicas: readonly Running[]): Promise<{ leader: Running; others: readonly Running[] }> {
  await expect.poll(() => leaderOf(replicas), PATIENCE).toHaveLength(1);
  const [name] = await leaderOf(replicas);
  const leader = replicas.find((replica) => replica.name === name);
  if (leader === undefined) throw new Error('nobody leads');
  return { leader, others: replicas.filter((replica) => replica !== leader) };
}

async function allReady(replicas: readonly Running[]): Promise<void> {
  for (const { health } of replicas) {
    await expect.poll(async () => (await health('/readyz')).status, PATIENCE).toBe(200);
  }
}

const statusAt = async ({ client }: Running, instance: string): Promise<unknown> =>
  (await client.request(`/stacks/instances/${instance}/status`)).body;

async function metricsOf({ controller }: Running): Promise<readonly string[]> {
  return (await (await fetch(`http://127.0.0.1:${controller.management.port}/metrics`)).text()).split('\n');
}

function streamOf(site: Site, { controller }: Running, headers = {}): Promise<ReadStream> {
  return readStream({ port: controller.api.port, ca: site.ca }, site.administrator, '/events', headers);
}

it('one replica leads, and all answer reads, writes and operations', async () => {
  const site = await createSite(FILES);
  const url = await server.create();
  const replicas = [await start(site, url, 'a'), await start(site, url, 'b'), await start(site, url, 'c')];
  const { leader, others } = await roles(replicas);
  await allReady(replicas);
  for (const replica of replicas) {
    await expect.poll(() => statusAt(replica, 'shop'), PATIENCE).toBe('Done');
    const { headers, body } = await replica.client.request('/hiera/shop-web');
    expect([headers['x-treeline-replica'], body]).toEqual([replica.name, expect.objectContaining({ motd: 'hello' })]);
  }
  const [first, second] = others;
  if (first === undefined || second === undefined) throw new Error('there are two standbys');
  const streams = await Promise.all(replicas.map((replica) => streamOf(site, replica)));
  const written = await first.client.request('/stacks/instances/blog', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ stackTemplate: 'web', parameters: { name: 'blog-web' } }),
  });
  expect([written.status, written.headers['x-treeline-replica']]).toEqual([201, first.name]);
  // A read after one's own write, elsewhere and here.
  const commit = String(written.headers['x-treeline-commit']);
  const elsewhere = await second.client.request('/stacks/instances/blog', {
    headers: { 'x-treeline-min-commit': commit },
  });
  expect(elsewhere.status).toBe(200);
  const own = await first.client.request('/stacks/instances/blog');
  expect([own.status, own.headers['x-treeline-commit']]).toEqual([200, commit]);
  await expect.poll(() => statusAt(second, 'blog'), PATIENCE).toBe('Done');
  const suspended = await second.client.request('/operations/suspend', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ instance: 'blog', reason: 'looking' }),
  });
  expect(suspended.status).toBe(200);
  const led = { name: leader.name, since: expect.stringMatching(/^\d{4}-.*Z$/), fencing: 1 };
  const { body } = await first.client.request('/operations/status');
  expect(body).toMatchObject({ leader: led });
  for (const replica of [second, leader]) {
    expect((await replica.client.request('/operations/status')).body).toEqual(body);
    const why = (await replica.client.request('/stacks/instances/blog/why')).body;
    expect(why).toMatchObject({ status: 'Suspended', leader: led });
    expect(why).not.toHaveProperty('lag');
  }
  const servers = ['treeline_servers{state="done"} 2', 'treeline_instances{status="Suspended"} 1'];
  for (const replica of replicas) {
    const leads = replica.name === leader.name ? 1 : 0;
    const own = [`treeline_leader ${leads}`, `treeline_fencing_number ${leads}`, 'treeline_ready 1'];
    await expect.poll(() => metricsOf(replica), PATIENCE).toEqual(expect.arrayContaining([...own, ...servers]));
  }
  const { events } = (await leader.client.request('/operations/events?instance=blog&limit=1000')).body as ListedEvents;
  expect(events.at(-1)).toMatchObject({ reason: expect.stringMatching(/^suspend: looking/), instance: 'blog' });
  for (const stream of streams) {
    const ofBlog = () => (stream.data('instance') as EventView[]).filter(({ instance }) => instance === 'blog');
    await expect.poll(ofBlog, PATIENCE).toEqual(events);
    expect(stream.data('commit').at(-1)).toEqual({ commit });
  }
});

it('another replica leads with the same rows when the leader stops', async () => {
  const site = await createSite(FILES);
  const url = await server.create();
  const replicas = [await start(site, url, 'a'), await start(site, url, 'b')];
  const { leader, others } = await roles(replicas);
  await allReady(replicas);
  for (const replica of replicas) await expect.poll(() => statusAt(replica, 'shop'), PATIENCE).toBe('Done');
  const before = await leader.client.request('/operations/recorded');
  const stream = await streamOf(site, others[0] as Running);
  await leader.controller.stop();
  const { leader: next } = await roles(others);
  expect((await next.client.request('/operations/recorded')).body).toEqual(before.body);
  await site.repository.commit({ 'stacks/instances/blog.yaml': instance('blog-web') });
  await expect.poll(() => statusAt(next, 'blog'), PATIENCE).toBe('Done');
  const { events } = (await next.client.request('/operations/events?instance=blog')).body as ListedEvents;
  // It was opened on a standby, and goes on with what this one does as the leader.
  await expect.poll(() => stream.data('instance'), PATIENCE).toEqual(events);
});

it('replicas answer reads but no operations without the database, and one leads afterwards', async () => {
  const site = await createSite(FILES);
  const url = await server.create();
  const replicas = [await start(site, url, 'a'), await start(site, url, 'b')];
  const { leader: former, others } = await roles(replicas);
  await allReady(replicas);
  // A standby that has not read the newest rows has the leader answer.
  for (const replica of replicas) {
    await expect.poll(() => metricsOf(replica), PATIENCE).toContain('treeline_servers{state="done"} 1');
  }
  await server.stop();
  await expect.poll(() => leaderOf(replicas), PATIENCE).toEqual([]);
  for (const { client, health } of replicas) {
    const away = `no replica is known to lead: The database "${new URL(url).pathname.slice(1)}" at 127.0.0.1:${server.port}`;
    await expect.poll(async () => (await health('/leaderz')).message, PATIENCE).toContain(away);
    expect((await client.request('/stacks/instances/shop')).status).toBe(200);
    expect((await client.request('/operations/held')).status).toBe(503);
    const lag = { reason: expect.stringContaining(`127.0.0.1:${server.port}`), since: expect.any(String) };
    const shown = { leader: null, lag };
    await expect
      .poll(async () => (await client.request('/operations/status')).body, PATIENCE)
      .toMatchObject({
        ...shown,
        instances: [{ name: 'shop', status: 'Done' }],
      });
    expect((await client.request('/stacks/instances/shop/why')).body).toMatchObject({ status: 'Done', ...shown });
  }
  await server.start();
  await former.controller.over;
  await former.controller.stop();
  const again = [...others, await start(site, url, former.name)];
  const { leader } = await roles(again);
  await site.repository.commit({ 'stacks/instances/blog.yaml': instance('blog-web') });
  for (const replica of again) {
    await expect.poll(() => statusAt(replica, 'blog'), PATIENCE).toBe('Done');
  }
  expect((await leader.client.request('/operations/held')).status).toBe(200);
});

itInFull('a tenant client has the same rights on every replica', async () => {
  const tenants = { 'stacks/instances/shop.yaml': `tenant: ours\n${instance('shop-web')}` };
  const others = { 'stacks/instances/vault.yaml': `tenant: theirs\n${instance('vault-web')}` };
  const site = await createSite({ ...FILES, ...tenants, ...others });
  const { ours, serial } = clientOfSite(site);
  await site.repository.commit({ [`clients/${serial}.yaml`]: 'role: automation-endpoint\ntenant: ours\n' });
  const url = await server.create();
  const replicas = [await start(site, url, 'a'), await start(site, url, 'b')];
  const { leader, others: standbys } = await roles(replicas);
  const [standby = leader] = standbys;
  await allReady(replicas);
  for (const replica of replicas) await expect.poll(() => statusAt(replica, 'vault'), PATIENCE).toBe('Done');
  const ask = async (replica: Running, path: string, method = 'GET', body?: JsonMap) => {
    const client = createHttpsClient({ port: replica.controller.api.port, ca: site.ca }, ours);
    const headers = { 'content-type': 'application/json' };
    const order = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const answer = await client.request(path, order);
    return { status: answer.status, body: answer.body };
  };
  const reads = [
    '/stacks/instances',
    '/stacks/instances/shop',
    '/stacks/instances/vault',
    '/hiera/shop-web',
    '/hiera/vault-web',
  ];
  const more = [
    '/hiera/all',
    '/operations/status',
    '/operations/recorded',
    '/operations/servers',
    '/operations/commits',
    '/clients',
    '/operations/events',
  ];
  for (const path of [...reads, ...more]) {
    const answer = await ask(standby, path);
    expect(answer, path).toEqual(await ask(leader, path));
    expect(JSON.stringify(answer), path).not.toContain(path.includes('vault') ? 'theirs' : 'vault');
  }
  const foreign = { stackTemplate: 'web', parameters: { name: 'other' }, tenant: 'theirs' };
  for (const [path, method, body] of [
    ['/stacks/instances/vault', 'POST', foreign],
    ['/stacks/instances/vault', 'DELETE', undefined],
    ['/stacks/instances/other', 'POST', foreign],
    ['/operations/retry', 'POST', { instance: 'vault' }],
  ] as const) {
    const refused = await ask(standby, path, method, body);
    expect(refused, `${method} ${path}`).toEqual(await ask(leader, path, method, body));
    expect(refused.status, `${method} ${path}`).toBeOneOf([403, 404, 409]);
  }
  const own = { stackTemplate: 'web', parameters: { name: 'mine-web' } };
  expect(await ask(standby, '/stacks/instances/mine', 'POST', own)).toMatchObject({ status: 201 });
  expect((await leader.client.request('/stacks/instances/mine')).body).toMatchObject({ tenant: 'ours' });
});

it('a stopping leader answers forwarded requests until its calls have ended', async () => {
  const site = await createSite(FILES);
  const url = await server.create();
  const { leader, others } = await roles([await start(site, url, 'one', 4_000), await start(site, url, 'two', 4_000)]);
  const [second] = others;
  if (second === undefined) throw new Error('nobody stands by');
  await expect.poll(() => statusAt(second, 'shop'), PATIENCE).toBe('In progress');
  await expect
    .poll(async () => JSON.stringify((await second.client.request('/operations/servers')).body), PATIENCE)
    .toContain('"creating"');
  let isOver = false;
  const stopped = leader.controller.stop().then(() => {
    isOver = true;
  });
  const statuses: number[] = [];
  for (let number = 1; !isOver || number < 3; number += 1) {
    const body = JSON.stringify({ name: 'web', motd: `${number}` });
    const headers = { 'Content-Type': 'application/json' };
    const written = await second.client.request('/types/role', { method: 'POST', headers, body });
    statuses.push(written.status, (await second.client.request('/operations/status')).status);
    // As a client does that is told to try later: otherwise it asks the same leader several times.
    if (written.status === 503) await sleep(Number(written.headers['retry-after']) * 1_000);
  }
  await stopped;
  // What arrives in the moment of the hand-over may be refused.
  expect(statuses.filter((status) => status !== 200 && status !== 201).length).toBeLessThan(2);
  await expect.poll(() => leaderOf([second]), PATIENCE).toEqual([second.name]);
});

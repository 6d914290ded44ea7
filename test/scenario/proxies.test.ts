// The controller and real proxies, each in a process of its own, with real programs and a line between them that is cut.
// The file that the programs write shows that nothing ran twice at once.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { issueClientCertificate } from '../../src/base/development-pki.ts';
import { ROOT } from '../support/command-line.ts';
import { createHttpsClient, type HttpsClient, keepAll } from '../support/https-client.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSiteIn, type Site } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const PROGRAM = join(ROOT, 'test/support/programs/logged-servers.js');
const LONG = { timeout: 60_000, interval: 50 };
// Each test starts several processes, and they many programs.
vi.setConfig({ testTimeout: 120_000 });

interface Scene {
  readonly site: Site;
  /** What the programs keep. */
  readonly servers: string;
  readonly controller: ServingProcess;
  readonly relay: Relay;
  readonly client: HttpsClient;
  /** Starts a proxy with a tag; without a relay, it has a line of its own to the controller. */
  proxy(name: string, options?: { readonly port?: number; readonly concurrency?: number }): Promise<ServingProcess>;
  states(): Promise<Readonly<Record<string, string>>>;
}

function stackOf(count: number) {
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/t.yaml': `resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "${count}", resource_def: { properties: { name: "web-<<index>>", ProxyTag: lab } } }
`,
    'stacks/instances/shop.yaml': 'stackTemplate: t\n',
  };
}

async function sceneOf(count: number, { ms = 300, timeoutSeconds = 60, graceSeconds = 1 } = {}): Promise<Scene> {
  const servers = temporaryDirectory();
  writeFileSync(join(servers, 'ms'), String(ms));
  const execution = `  deleteBudget: { least: 20 }
  retry: { firstSeconds: 1, maxSeconds: 1, failedSeconds: 2 }
  graceSeconds: ${graceSeconds}
  proxied: { timeoutSeconds: ${timeoutSeconds} }`;
  const options = { files: stackOf(count), repository: ', pollSeconds: 1', execution, provider: 'none' };
  const site = await createSiteIn(temporaryDirectory(), options);
  const controller = new ServingProcess(site.config);
  const relay = await startRelay(await controller.port());
  const client = clientOf(site, relay.target);
  return {
    ...{ site, servers, controller, relay, client },
    proxy: (name, at = {}) => startProxy(name, { site, servers, port: relay.port, concurrency: 5, ...at }),
    states: () => statesOf(client),
  };
}

/** Keeps its connections: the tests ask many times a second. */
function clientOf({ ca, administrator }: Site, port: number): HttpsClient {
  const agent = keepAll();
  onTestFinished(() => agent.destroy());
  return createHttpsClient({ port, ca }, administrator, agent);
}

interface ProxyPlace {
  readonly site: Site;
  readonly servers: string;
  readonly port: number;
  readonly concurrency: number;
}

/** Registers a proxy, unless it is known already, and starts it. */
async function startProxy(name: string, { site, servers, port, concurrency }: ProxyPlace): Promise<ServingProcess> {
  const folder = join(site.folder, name);
  if (!existsSync(folder)) {
    mkdirSync(folder, { mode: 0o700 });
    const authority = {
      cert: readFileSync(join(site.folder, 'pki/ca.crt'), 'utf8'),
      key: readFileSync(join(site.folder, 'pki/ca.key'), 'utf8'),
    };
    const { key, cert, serial } = await issueClientCertificate(authority, { commonName: name, now: Date.now() });
    writeFileSync(join(folder, 'proxy.key'), key, { mode: 0o600 });
    writeFileSync(join(folder, 'proxy.crt'), cert);
    writeFileSync(join(folder, 'serial'), serial);
    await site.repository.commit({ [`clients/${serial}.yaml`]: 'role: proxy\ntags: [lab]\n' });
  }
  const config = join(folder, 'proxy.yaml');
  const environment = { SERVERS: servers, SITE: name, PATH: process.env.PATH };
  writeFileSync(
    config,
    `server: https://127.0.0.1:${port}
tls: { cert: proxy.crt, key: proxy.key, ca: ../pki/ca.crt }
directory: state
concurrency: ${concurrency}
providers:
  - { name: files, command: [${process.execPath}, ${PROGRAM}], environment: ${JSON.stringify(environment)} }
`,
  );
  const proxy = new ServingProcess(config, 'proxy');
  await proxy.logged('proxy started');
  return proxy;
}

async function statesOf({ request }: HttpsClient): Promise<Readonly<Record<string, string>>> {
  const { body } = await request('/stacks/instances/shop/status/full');
  const groups = Object.values((body ?? {}) as Readonly<Record<string, Readonly<Record<string, { state: string }>>>>);
  return Object.fromEntries(groups.flatMap((group) => Object.entries(group)).map(([name, { state }]) => [name, state]));
}

function allDone(count: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`web-${index + 1}`, 'done']));
}

interface LoggedCall {
  readonly moment: string;
  readonly operation: string;
  readonly server: string;
  readonly site: string;
  readonly pid: number;
}

function callsIn({ servers }: Pick<Scene, 'servers'>): readonly LoggedCall[] {
  const file = join(servers, 'calls');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const [moment = '', operation = '', server = '', site = '', pid = ''] = line.split(' ');
      return { moment, operation, server, site, pid: Number(pid) };
    });
}

/** Returns what was done to each server: `begin create`, `end create`, and so on. */
function courses(scene: Scene): Readonly<Record<string, readonly string[]>> {
  const byServer: Record<string, string[]> = {};
  for (const { server, moment, operation } of callsIn(scene)) {
    byServer[server] = [...(byServer[server] ?? []), `${moment} ${operation}`];
  }
  return byServer;
}

const ONCE = ['begin create', 'end create'];

it('two proxies with one tag share the work, and never do it twice', async () => {
  const scene = await sceneOf(1);
  await expect.poll(scene.states, LONG).toEqual({ 'web-1': 'blocked' });
  await scene.proxy('north', { concurrency: 1 });
  await scene.proxy('south', { concurrency: 1 });
  await expect.poll(scene.states, LONG).toEqual(allDone(1));
  await scene.site.repository.commit(stackOf(8));
  await expect.poll(scene.states, LONG).toEqual(allDone(8));
  expect(new Set(callsIn(scene).map(({ site }) => site))).toEqual(new Set(['north', 'south']));
  for (const course of Object.values(courses(scene))) expect(course).toEqual(ONCE);
});

it('a line that is cut for longer than an action takes costs no second try', async () => {
  const scene = await sceneOf(3, { ms: 700 });
  const proxy = await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(3);
  scene.relay.cut();
  await expect.poll(() => callsIn(scene).length, LONG).toBe(6);
  expect(Object.values(await scene.states())).not.toContain('done');
  scene.relay.mend();
  await expect.poll(scene.states, LONG).toEqual(allDone(3));
  await proxy.logged('reported');
  for (const course of Object.values(courses(scene))) expect(course).toEqual(ONCE);
});

it('a line that is cut beyond the deadline: the late report is refused, a check finds what was made', async () => {
  const scene = await sceneOf(2, { ms: 700, timeoutSeconds: 4 });
  const proxy = await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(2);
  scene.relay.cut();
  await expect.poll(scene.states, LONG).toEqual({ 'web-1': 'unknown', 'web-2': 'unknown' });
  expect(callsIn(scene)).toHaveLength(4);
  scene.relay.mend();
  await expect.poll(scene.states, LONG).toEqual(allDone(2));
  await proxy.logged('the report is not wanted; the controller has given the action up');
  for (const course of Object.values(courses(scene))) expect(course).toEqual(ONCE);
});

it('a proxy that is stopped like a process leaves no program running beyond its deadline, and another makes the server', async () => {
  const scene = await sceneOf(1, { ms: 20_000, timeoutSeconds: 5, graceSeconds: 3 });
  const stopped = await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(1);
  stopped.signal('SIGSTOP');
  const [begun] = callsIn(scene);
  writeFileSync(join(scene.servers, 'ms'), '100');
  await scene.proxy('south');
  await expect.poll(scene.states, LONG).toEqual(allDone(1));
  expect(isRunning(begun?.pid ?? 0)).toBe(false);
  expect(courses(scene)['web-1']).toEqual(['begin create', ...ONCE]);
});

it('a proxy that is killed in the middle of an action leaves no program running, and tries again at its next start', async () => {
  const scene = await sceneOf(1, { ms: 20_000 });
  const killed = await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(1);
  killed.signal('SIGKILL');
  const [begun] = callsIn(scene);
  await expect.poll(() => isRunning(begun?.pid ?? 0), LONG).toBe(false);
  writeFileSync(join(scene.servers, 'ms'), '100');
  const next = await scene.proxy('north');
  await next.logged('the proxy was ended while this ran; it is reported as to be tried again');
  await expect.poll(scene.states, LONG).toEqual(allDone(1));
  expect(courses(scene)['web-1']).toEqual(['begin create', ...ONCE]);
});

it('a proxy that is stopped claims no more, finishes what runs, and reports it', async () => {
  const scene = await sceneOf(8, { ms: 1_000 });
  const proxy = await scene.proxy('north', { concurrency: 2 });
  await expect.poll(() => callsIn(scene).length, LONG).toBe(2);
  expect(await proxy.end('SIGTERM')).toBe(0);
  expect(callsIn(scene)).toHaveLength(4);
  const done = Object.values(await scene.states()).filter((state) => state === 'done');
  expect(done).toHaveLength(2);
});

it('a controller that is killed while a proxy works takes its report after its next start', async () => {
  const scene = await sceneOf(2, { ms: 1_500 });
  await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(2);
  await scene.controller.end('SIGKILL');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(4);
  const next = new ServingProcess(scene.site.config);
  scene.relay.target = await next.port();
  const client = clientOf(scene.site, scene.relay.target);
  await expect.poll(() => statesOf(client), LONG).toEqual(allDone(2));
  for (const course of Object.values(courses(scene))) expect(course).toEqual(ONCE);
});

it('a proxy that is removed while it works reports to nobody, and another one checks after the deadline', async () => {
  const scene = await sceneOf(1, { ms: 1_000, timeoutSeconds: 5 });
  await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(1);
  const serial = readFileSync(join(scene.site.folder, 'north/serial'), 'utf8');
  await scene.site.repository.commit({ [`clients/${serial}.yaml`]: null });
  await expect.poll(() => callsIn(scene).length, LONG).toBe(2);
  await scene.proxy('south');
  await expect.poll(scene.states, LONG).toEqual(allDone(1));
  expect(courses(scene)['web-1']).toEqual(ONCE);
});

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

// A controller and real proxies, each in a process of its own, with real programs and a line between them that can be cut. The
// file that the programs write shows what ran when.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { issueClientCertificate } from '../../src/base/development-pki.ts';
import { ROOT } from './command-line.ts';
import { describedClient } from './described-client.ts';
import { createHttpsClient, type HttpsClient, keepAll } from './https-client.ts';
import { type Relay, startRelay } from './relay.ts';
import { ServingProcess } from './serving-process.ts';
import { createSiteIn, type Site } from './site-on-disk.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const PROGRAM = join(ROOT, 'test/support/programs/logged-servers.js');
/** How long an end state is waited for. */
export const LONG = { timeout: 60_000, interval: 50 };

/** The processes of a test. */
export interface ProxyScene {
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

/** Returns the files of an instance with so many servers. */
export function stackOf(count: number) {
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

/** Returns a controller of so many servers that take `ms` each, with a line for proxies. */
export async function startProxyScene(
  count: number,
  { ms = 300, timeoutSeconds = 60, graceSeconds = 1 } = {},
): Promise<ProxyScene> {
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
  const client = clientAt(site, relay.target);
  return {
    ...{ site, servers, controller, relay, client },
    proxy: (name, at = {}) => startProxy(name, { site, servers, port: relay.port, concurrency: 5, ...at }),
    states: () => readStates(client),
  };
}

/** Keeps its connections: the tests ask many times a second. */
export function clientAt({ ca, administrator }: Site, port: number): HttpsClient {
  const agent = keepAll();
  onTestFinished(() => agent.destroy());
  return describedClient(createHttpsClient({ port, ca }, administrator, agent), true);
}

interface ProxyPlace {
  readonly site: Site;
  readonly servers: string;
  readonly port: number;
  readonly concurrency: number;
}

/** Registers a proxy, unless it is known already, and starts it. */
export async function startProxy(
  name: string,
  { site, servers, port, concurrency }: ProxyPlace,
): Promise<ServingProcess> {
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

/** Returns the states of the servers, by name. */
export async function readStates({ request }: HttpsClient): Promise<Readonly<Record<string, string>>> {
  const { body } = await request('/stacks/instances/shop/status/full');
  const groups = Object.values((body ?? {}) as Readonly<Record<string, Readonly<Record<string, { state: string }>>>>);
  return Object.fromEntries(groups.flatMap((group) => Object.entries(group)).map(([name, { state }]) => [name, state]));
}

/** Returns the states of so many servers that are done. */
export function allDone(count: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`web-${index + 1}`, 'done']));
}

interface LoggedCall {
  readonly moment: string;
  readonly operation: string;
  readonly server: string;
  readonly site: string;
  readonly pid: number;
}

/** Returns the beginnings and ends of calls, oldest first. */
export function callsIn({ servers }: Pick<ProxyScene, 'servers'>): readonly LoggedCall[] {
  const file = join(servers, 'calls');
  if (!existsSync(file)) return [];
  return (
    readFileSync(file, 'utf8')
      .split('\n')
      // A program that was just started has made the file, and has not written yet.
      .filter((line) => line !== '')
      .map((line) => {
        const [moment = '', operation = '', server = '', site = '', pid = ''] = line.split(' ');
        return { moment, operation, server, site, pid: Number(pid) };
      })
  );
}

/** Returns what was done to each server: `begin create`, `end create`, and so on. */
export function courses(scene: ProxyScene): Readonly<Record<string, readonly string[]>> {
  const byServer: Record<string, string[]> = {};
  for (const { server, moment, operation } of callsIn(scene)) {
    byServer[server] = [...(byServer[server] ?? []), `${moment} ${operation}`];
  }
  return byServer;
}

/** The course of a server that was made once. */
export const ONCE = ['begin create', 'end create'];

/** Returns false also for a process of which only the exit code is left. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

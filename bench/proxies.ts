// The benchmark `proxies`: how far several proxies with one tag share the work of one controller. The programs only wait, so what is
// measured is how well the calls are handed out, and not what this machine can compute.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueClientCertificate } from '../src/base/development-pki.ts';
import { createSiteIn } from '../test/support/site-on-disk.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { type PartRow, rowOf } from './bench-row.ts';
import { markdownTable } from './markdown-table.ts';
import { OwnedProcess } from './owned-process.ts';
import { ServedController } from './served-controller.ts';
import type { Site } from './site.ts';

const ROOT = join(import.meta.dirname, '..');
const SERVERS_MAX = 10_000;
const CONCURRENCY = 5;
const CALL_SECONDS = 1;
/** Each server is checked before it is created. */
const CALLS_A_SERVER = 2;
const START_MS_MAX = 60_000;
const DONE_MS_MAX = 600_000;
/** How many times faster than one proxy so many have to be. */
const TARGETS: ReadonlyMap<number, number> = new Map([
  [2, 1.7],
  [4, 3],
]);

/** A server is a file that `create` makes. */
const PROGRAM = `#!/bin/sh
call=$(cat)
case "$call" in *'"operation":"check"'*) isCheck=1 ;; *) isCheck= ;; esac
name=\${call#*'"resource":"'}
name=\${name%%'"'*}
sleep ${CALL_SECONDS}
[ -n "$isCheck" ] || : > "$SERVERS/$name"
if [ -e "$SERVERS/$name" ]; then echo '{"outcome":"done"}'; else echo '{"outcome":"absent"}'; fi
`;

interface ProxiesOptions {
  readonly servers: number;
  readonly proxies: readonly number[];
}

interface Shared {
  readonly proxies: number;
  /** From the commit until the last server is done. */
  readonly seconds: number;
}

/** Returns the part `proxies`. */
export const PROXIES = definePart({
  name: 'proxies',
  summary: 'how far several proxies with one tag share the work',
  options: {
    servers: { kind: 'number', default: 100, quick: 40, max: SERVERS_MAX, help: 'servers that are made' },
    proxies: {
      kind: 'numbers',
      default: [1, 2, 4],
      quick: [1, 2],
      max: 8,
      help: 'numbers of proxies; the first is compared with',
    },
  },
  run: benchProxies,
});

async function benchProxies({ servers, proxies }: ProxiesOptions, { folder, say }: BenchContext): Promise<PartReport> {
  const measured: Shared[] = [];
  for (const count of proxies) {
    const seconds = await measure(join(folder, String(count)), servers, count);
    measured.push({ proxies: count, seconds });
    say(`${servers} servers by ${count} proxies: ${seconds.toFixed(1)} s`);
  }
  const [one] = measured;
  return {
    rows: measured.slice(1).map((shared) => rowFor(shared, servers, one)),
    text: `Servers: ${servers}; each proxy makes ${CONCURRENCY} calls at once, and a call takes ${CALL_SECONDS} s.\n\n${tableOf(measured, servers)}`,
    failures: [],
    data: measured,
  };
}

function rowFor({ proxies, seconds }: Shared, servers: number, one: Shared | undefined): PartRow {
  const ratioMin = TARGETS.get(proxies);
  return rowOf({
    work: `${servers} servers by ${proxies} proxies with one tag`,
    value: seconds,
    unit: 's',
    target: ratioMin === undefined ? {} : { ratioMin },
    ...(one === undefined ? {} : { peer: { name: `${one.proxies} proxy`, value: one.seconds } }),
  });
}

function tableOf(measured: readonly Shared[], servers: number): string {
  const rows = measured.map(({ proxies, seconds }) => {
    const least = (servers * CALLS_A_SERVER * CALL_SECONDS) / (proxies * CONCURRENCY);
    return [String(proxies), seconds.toFixed(1), least.toFixed(1), (least / seconds).toFixed(2)];
  });
  return markdownTable(['proxies', 's', 'waits alone, s', 'of that'], rows);
}

async function measure(folder: string, servers: number, count: number): Promise<number> {
  mkdirSync(folder);
  const execution = '  proxied: { timeoutSeconds: 60 }';
  const options = { files: stackOf(0), repository: ', pollSeconds: 1', execution, provider: 'none' };
  const site = await createSiteIn(folder, options);
  const controller = new ServedController(site, 'controller');
  await controller.ready();
  const port = await controller.apiPort();
  const proxies = [];
  for (let index = 1; index <= count; index++) proxies.push(await startProxy(`proxy-${index}`, site, port));
  await controller.quiet();
  const begin = Date.now();
  await site.repository.commit(stackOf(servers));
  await controller.process.until(
    'all servers were done',
    DONE_MS_MAX,
    () => controller.log.done === servers || undefined,
  );
  for (const proxy of proxies) await proxy.stop();
  const seconds = (controller.log.lastDoneAt - begin) / 1000;
  await controller.stop();
  return seconds;
}

function stackOf(servers: number) {
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/t.yaml': `resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "${servers}", resource_def: { properties: { name: "web-<<index>>", ProxyTag: lab } } }
`,
    'stacks/instances/shop.yaml': 'stackTemplate: t\n',
  };
}

/** Registers a proxy and starts it. */
async function startProxy(name: string, site: Site, port: number): Promise<OwnedProcess> {
  const folder = join(site.folder, name);
  const servers = join(site.folder, 'servers');
  for (const directory of [folder, servers]) mkdirSync(directory, { recursive: true, mode: 0o700 });
  const read = (file: string): string => readFileSync(join(site.folder, 'pki', file), 'utf8');
  const authority = { cert: read('ca.crt'), key: read('ca.key') };
  const { key, cert, serial } = await issueClientCertificate(authority, { commonName: name, now: Date.now() });
  writeFileSync(join(folder, 'proxy.key'), key, { mode: 0o600 });
  writeFileSync(join(folder, 'proxy.crt'), cert);
  await site.repository.commit({ [`clients/${serial}.yaml`]: 'role: proxy\ntags: [lab]\n' });
  const program = join(folder, 'wait');
  writeFileSync(program, PROGRAM);
  chmodSync(program, 0o700);
  const environment = JSON.stringify({ SERVERS: servers, PATH: process.env.PATH });
  const config = join(folder, 'proxy.yaml');
  writeFileSync(
    config,
    `server: https://127.0.0.1:${port}
tls: { cert: proxy.crt, key: proxy.key, ca: ../pki/ca.crt }
directory: state
concurrency: ${CONCURRENCY}
providers:
  - { name: waits, command: [${program}], environment: ${environment} }
`,
  );
  const output = join(folder, 'log');
  const args = ['src/cli.js', 'proxy', '--config', config];
  const proxy = new OwnedProcess({ file: process.execPath, args, cwd: ROOT, output });
  await proxy.until(
    'it had started',
    START_MS_MAX,
    () => readFileSync(output, 'utf8').includes('proxy started') || undefined,
  );
  return proxy;
}

// Counts the files of src/ in which code runs on four walks through a real controller: a changed file to its answer, an action
// from intent to outcome, a write from body to commit, and a proxy's claim and report. `npm run walks`, `-- --list` names them.
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createLog } from '../src/base/log.ts';
import { type Controller, startController } from '../src/compose.ts';
import { loadSettings } from '../src/settings/load-settings.ts';
import { createHttpsClient, type HttpsClient, type Identity, type Reply } from '../test/support/https-client.ts';
import { createSiteIn, type Site } from '../test/support/site-on-disk.ts';

const SOURCES = join(import.meta.dirname, '..', 'src');
/** How long each step of a walk may take. */
const STEP_MS_MAX = 30_000;
/** What follows a walk's last answer, such as an event that is recorded, is over by then. */
const REST_MS = 500;

const TEMPLATE = `resources:
  web:
    type: Platform::Server
    properties: { name: "<<name>>", size: "<<size>>" }
parameters: { name: "", size: "1" }
`;
/** Answers every call and notes it, as a program of an operator does. */
const PROGRAM = `const { appendFileSync } = require('node:fs');
let text = '';
process.stdin.on('data', (part) => { text += part; }).on('end', () => {
  const { operation } = JSON.parse(text);
  appendFileSync(process.env.CALLS, operation + '\\n');
  process.stdout.write(JSON.stringify({ outcome: operation === 'check' ? 'absent' : 'done' }));
});
`;

interface Scene {
  readonly site: Site;
  readonly controller: Controller;
  readonly client: HttpsClient;
  readonly proxy: Identity;
}

/** A walk: what brings about its begin, and the walk itself. */
interface Walk {
  readonly name: string;
  prepare?(scene: Scene): Promise<void>;
  walk(scene: Scene): Promise<void>;
}

const WALKS: readonly Walk[] = [
  {
    name: 'a changed instance file, from the push to the answer',
    async walk({ site, client }) {
      await site.repository.commit({ 'stacks/instances/quiet.yaml': instance({ description: 'changed', count: 0 }) });
      await until('the new description is read', async () => {
        const { body } = await client.request('/stacks/instances/quiet');
        return (body as { description?: string }).description === 'changed';
      });
    },
  },
  {
    name: 'an action, from its intent to its outcome',
    async prepare({ site, client }) {
      const soon = new Date(Date.now() + 4_000).toISOString();
      await post(client, '/operations/suspend', {
        instance: 'shop',
        until: soon,
        reason: 'the walk begins when it ends',
      });
      await site.repository.commit({ 'stacks/instances/shop.yaml': instance({ server: 'shop-web', size: '2' }) });
      await until('the commit is followed', async () => await isFollowed(site, client));
      writeFileSync(callsOf(site), '');
    },
    walk: ({ site }) => until('the update ran', async () => readFileSync(callsOf(site), 'utf8').includes('update')),
  },
  {
    name: 'a write, from its body to the commit and the answer',
    async walk({ client }) {
      await post(client, '/stacks/instances/written/', { stackTemplate: 'quiet', description: 'written' });
    },
  },
  {
    name: "a proxy's claim and its report",
    prepare: ({ client, proxy }) =>
      until('an action is offered', async () => (await offered(client, proxy)) !== undefined),
    async walk({ client, proxy }) {
      const { id } = (await offered(client, proxy)) ?? {};
      const { lease } = (await post(client, `/agent/actions/${id}/claim`, {}, proxy)) as { lease: string };
      await post(client, `/agent/actions/${id}/report`, { lease, outcome: 'absent', message: '' }, proxy);
    },
  },
];

function instance({ description = '', server = '', size = '1', count = 1 }): string {
  const template = count === 0 ? 'quiet' : 'stack';
  const parameters = count === 0 ? '' : `parameters: { name: "${server}", size: "${size}" }\n`;
  return `stackTemplate: ${template}\ndescription: "${description}"\n${parameters}`;
}

function callsOf({ folder }: Site): string {
  return join(folder, 'calls');
}

async function isFollowed({ repository }: Site, client: HttpsClient): Promise<boolean> {
  const { headers } = await client.request('/tree/');
  return headers['x-treeline-commit'] === (await repository.head());
}

async function offered(client: HttpsClient, proxy: Identity): Promise<{ readonly id: string } | undefined> {
  const { body } = await client.request('/agent/actions?wait=1&limit=1', { identity: proxy });
  return (body as { actions: { id: string }[] }).actions[0];
}

async function post(client: HttpsClient, path: string, body: object, identity?: Identity): Promise<unknown> {
  const reply = await client.request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    ...(identity === undefined ? {} : { identity }),
  });
  return requireGood(path, reply);
}

function requireGood(path: string, { status, body }: Reply): unknown {
  if (status >= 300) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + STEP_MS_MAX;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(`within ${STEP_MS_MAX / 1000} s it did not come to pass that ${what}`);
    await sleep(25);
  }
}

async function openScene(folder: string): Promise<Scene> {
  const program = join(folder, 'program.cjs');
  const site = await createSiteIn(join(folder, 'site'), {
    files: {
      'tree.yaml': 'name: global\ntype: common\n',
      'stacks/templates/stack.yaml': TEMPLATE,
      'stacks/templates/quiet.yaml': 'resources: {}\n',
      'stacks/instances/quiet.yaml': instance({ count: 0 }),
      'stacks/instances/shop.yaml': instance({ server: 'shop-web' }),
    },
    execution: `  providers:
    - { name: shop, match: { properties: { name: shop-web } }, provider: exec, command: ["${process.execPath}", "${program}"], environment: { CALLS: "${join(folder, 'site', 'calls')}" }, checkSeconds: 3600 }`,
    provider: 'none',
  });
  writeFileSync(program, PROGRAM);
  const [key, cert] = ['key', 'crt'].map((end) => readFileSync(join(site.folder, `pki/proxy.${end}`), 'utf8'));
  const proxy = { key: key ?? '', cert: cert ?? '' };
  const { serialNumber } = new X509Certificate(proxy.cert);
  const controller = await startController(await loadSettings(site.config), { log: createLog('error') });
  const client = createHttpsClient({ port: controller.api.port, ca: site.ca }, site.administrator);
  await until('the shop is done', async () => {
    const { body } = await client.request('/stacks/instances/shop/status');
    return body === 'Done';
  });
  await site.repository.commit({
    [`clients/${serialNumber}.yaml`]: 'role: proxy\n',
    'stacks/instances/remote.yaml': instance({ server: 'remote-web' }),
  });
  await until('the remote server is known', () => isFollowed(site, client));
  return { site, controller, client, proxy };
}

/** Returns the files of src/, relative to it, in which a function was called since the last time. */
async function filesRun(session: Session): Promise<readonly string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = new Set<string>();
  for (const { url, functions } of result) {
    if (!url.startsWith('file:')) continue;
    const path = relative(SOURCES, fileURLToPath(url));
    // The first range of a file is the file itself, which runs where it is loaded.
    const isCalled = functions.some(({ functionName, ranges }, index) => {
      const isFile = index === 0 && functionName === '';
      return !isFile && ranges.some(({ count }) => count > 0);
    });
    if (!path.startsWith('..') && isCalled) files.add(path);
  }
  return [...files].sort();
}

async function measure(session: Session, scene: Scene, { prepare, walk }: Walk): Promise<readonly string[]> {
  await prepare?.(scene);
  await sleep(REST_MS);
  await filesRun(session);
  await walk(scene);
  await sleep(REST_MS);
  return await filesRun(session);
}

async function main(): Promise<void> {
  const isListed = process.argv.includes('--list');
  const folder = mkdtempSync(join(tmpdir(), 'treeline-walks-'));
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const scene = await openScene(folder);
  try {
    for (const walk of WALKS) {
      const files = await measure(session, scene, walk);
      process.stdout.write(`${String(files.length).padStart(4)}  ${walk.name}\n`);
      for (const file of isListed ? files : []) process.stdout.write(`      ${file}\n`);
    }
  } finally {
    await scene.controller.stop();
    session.disconnect();
    if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
  }
}

await main();

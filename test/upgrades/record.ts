// Records what a former commit of Treeline leaves behind, by running it: `node test/upgrades/record.ts COMMIT NAME` writes NAME.tar.gz
// beside this file; a name that begins with `postgres` is for a store in PostgreSQL. Run it on the last commit before the format of a
// store, of settings or of stacks changes.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseConnections } from '../../src/store/postgres/connection.ts';
import { yamlFilesIn } from '../support/git-repository.ts';
import { createHttpsClient, type HttpsClient } from '../support/https-client.ts';
import { startPostgresServer } from '../support/postgres-server.ts';
import { createSiteIn, type Site } from '../support/site-on-disk.ts';

const ROOT = join(import.meta.dirname, '../..');
const STAGING = 'stacks/instances/shop/shop-staging.yaml';
const SUSPENDED = 'orders-db';
const LOOKS_MAX = 600;
const EXECUTION = `  deleteBudget: { least: 5 }
  providers:
    - { name: lab, provider: simulated, options: { createMs: 15, updateMs: 10, deleteMs: 10 } }`;

const [commit = '', name = ''] = process.argv.slice(2);
if (name === '') throw new Error('say COMMIT NAME');
const folder = mkdtempSync(join(tmpdir(), 'treeline-record-'));
const product = join(folder, 'product');
const server = name.startsWith('postgres') ? await startPostgresServer() : undefined;
execFileSync('git', ['-C', ROOT, 'worktree', 'add', '--quiet', '--detach', product, commit]);
try {
  symlinkSync(join(ROOT, 'node_modules'), join(product, 'node_modules'));
  const site = await createSiteIn(join(folder, 'site'), {
    ...{ files: yamlFilesIn(join(product, 'sample-repo')), execution: EXECUTION, provider: 'lab' },
    repository: ', pollSeconds: 1',
    store: server === undefined ? undefined : '{ kind: postgres, urlFile: database-url, directory: state }',
  });
  const url = await server?.create('empty');
  if (url !== undefined) writeFileSync(join(site.folder, 'database-url'), url, { mode: 0o600 });
  const told = await live(site);
  if (url !== undefined) writeFileSync(join(site.state, 'database.json'), JSON.stringify(await readDatabase(url)));
  await writeFixture(site, told);
} finally {
  await server?.remove();
  execFileSync('git', ['-C', ROOT, 'worktree', 'remove', '--force', product]);
  rmSync(folder, { recursive: true, force: true });
}

/** Has the former controller make the sample, change it, delete of it and suspend of it. Returns what it tells in the end. */
async function live({ config, repository, ca, administrator }: Site): Promise<object> {
  const cli = ['src/cli.js', 'src/cli.ts'].map((path) => join(product, path)).find(existsSync) ?? '';
  const controller = spawn(process.execPath, [cli, 'serve', '--config', config], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [controller.stdout, controller.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  try {
    const port = await until(() => {
      const line = log.split('\n').find((each) => each.includes('"listening"'));
      return line === undefined ? undefined : Number(JSON.parse(line).api.port);
    });
    const client = createHttpsClient({ port, ca }, administrator);
    await until(async () => ((await tell(client)).isDone ? true : undefined));
    const staging = await repository.git('show', `main:${STAGING}`);
    const changed = await repository.commit({
      [STAGING]: `${staging.replace(/web_count: "\d+"/, 'web_count: "3"')}\n`,
      'types/common/global.yaml': `${await repository.git('show', 'main:types/common/global.yaml')}\n# changed\n`,
    });
    await until(async () =>
      (await client.request('/tree/')).headers['x-treeline-commit'] === changed ? true : undefined,
    );
    await until(async () => ((await tell(client)).isDone ? true : undefined));
    const reason = 'as it was before an upgrade';
    await client.request('/operations/suspend', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ instance: SUSPENDED, reason }),
    });
    return await tell(client);
  } catch (error) {
    throw new Error(log, { cause: error });
  } finally {
    controller.kill('SIGTERM');
    await once(controller, 'exit');
  }
}

/** Returns the statuses of all instances, and the states of their servers. */
async function tell(client: HttpsClient) {
  const { body } = await client.request('/stacks/instances/');
  const names = (Array.isArray(body) ? body : []).map(({ name }: { readonly name: string }) => name).sort();
  const ask = async (path: string) =>
    Object.fromEntries(
      await Promise.all(
        names.map(async (each) => [each, (await client.request(`/stacks/instances/${each}/${path}`)).body]),
      ),
    );
  const statuses = await ask('status');
  const isDone = names.length > 0 && names.every((each) => statuses[each] === 'Done');
  return { isDone, statuses, servers: await ask('status/full') };
}

/** Returns the statements that make the tables, and the rows of each table that has any. */
async function readDatabase(url: string): Promise<object> {
  const migrations = join(product, 'migrations');
  const made = readdirSync(migrations)
    .toSorted()
    .map((file) => [file.replace(/\.sql$/, ''), readFileSync(join(migrations, file), 'utf8')]);
  const connections = new DatabaseConnections({ url });
  const rows: Record<string, unknown> = {};
  await connections.session(async (_client, run) => {
    for (const table of ['rows', 'events', 'commits', 'state', 'lease', 'replicas']) {
      const [line] = await run(`SELECT json_agg(t)::text FROM treeline.${table} t`);
      rows[table] = line?.[0];
    }
  });
  await connections.close();
  return { migrations: made, rows };
}

async function until<Answer>(ask: () => Answer | undefined | Promise<Answer | undefined>): Promise<Answer> {
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(50);
  }
  throw new Error('waited in vain');
}

async function writeFixture({ folder: place, repository }: Site, told: object): Promise<void> {
  writeFileSync(join(place, 'told.json'), JSON.stringify(told));
  await repository.git('bundle', 'create', '--quiet', join(place, 'stacks.bundle'), 'main');
  writeFileSync(join(place, 'settings.schema.json'), readFileSync(join(product, 'schemas/settings.schema.json')));
  const state = ['store.sqlite', 'snapshot', 'journal', 'database.json', 'simulated-lab.sqlite'];
  const files = [
    'treeline.yaml',
    'settings.schema.json',
    'told.json',
    'stacks.bundle',
    ...state.map((file) => `state/${file}`),
  ];
  const target = join(import.meta.dirname, `${name}.tar.gz`);
  execFileSync('tar', [
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '-czf',
    target,
    '-C',
    place,
    ...files.filter((file) => existsSync(join(place, file))),
  ]);
}

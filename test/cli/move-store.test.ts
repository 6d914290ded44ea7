// `treeline store` moves what is recorded from the embedded store into a database and back, on an installation with servers.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DatabaseConnections } from '../../src/store/postgres/connection.ts';
import { readDatabase, restoreDatabase } from '../../src/store/postgres/database-backup.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-adapter.ts';
import { rowsOf, type StoreDocument } from '../../src/store/store-document.ts';
import { readBackup } from '../../src/store/store-file.ts';
import { filesOf, serversOf } from '../support/churned-repository.ts';
import { itInFull } from '../support/count-runs.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { writeText } from '../support/rows.ts';
import { createSite, type Site } from '../support/site.ts';
import { releasesIn, runStore, serveUntilDone, WANTED } from '../support/store-operator.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

/** Changes the store in the settings of a site. */
function choose(site: Site, store: string): void {
  const text = readFileSync(site.config, 'utf8');
  writeFileSync(site.config, text.replace(/^store: .*$/m, `store: ${store}`));
}

function contentOf(document: StoreDocument): unknown {
  const rows = [...rowsOf(document.tables)].map((row) => JSON.stringify(row)).sort();
  return { rows, events: [...document.events.stored()] };
}

itInFull(
  'moves an installation into a database and back: nothing is lost, made twice or removed',
  async () => {
    const site = await createSite(filesOf(WANTED));
    const embedded = await serveUntilDone(site);
    expect(await embedded.end('SIGTERM')).toBe(0);
    expect(await runStore(site, 'backup', 'embedded')).toMatchObject({ code: 0 });

    const url = await server.create('empty');
    const name = new URL(url).pathname.slice(1);
    const place = `the database "${name}" at 127.0.0.1:${server.port}`;
    writeFileSync(join(site.folder, 'database-url'), `${url}\n`, { mode: 0o600 });
    choose(site, '{ kind: postgres, urlFile: database-url, directory: state }');
    const restored = await runStore(site, 'restore', 'embedded');
    expect(restored).toEqual({ code: 0, stdout: expect.stringContaining(`\nto ${place}\n`), stderr: '' });
    await site.repository.commit(filesOf({ ...WANTED, release: 2 }));
    const shared = await serveUntilDone(site);
    expect(shared.lines.filter(({ to }) => to === 'creating')).toEqual([]);
    expect(shared.lines.filter(({ to }) => to === 'updating')).toHaveLength(Object.keys(serversOf(WANTED)).length);

    const beside = await runStore(site, 'restore', 'embedded', '--force');
    expect(beside).toMatchObject({ code: 3, stdout: '' });
    expect(beside.stderr).toContain('Stop all replicas first. Nothing was restored.');
    expect(await runStore(site, 'backup', 'shared')).toMatchObject({ code: 0, stderr: '' });
    expect(await shared.end('SIGTERM')).toBe(0);
    const over = await runStore(site, 'restore', 'embedded');
    expect(over.stderr).toMatch(new RegExp(`^treeline: T${place.slice(1)} holds rows already \\(\\d+\\)\\. .*--force`));

    choose(site, '{ kind: lowdb, directory: state }');
    expect(await runStore(site, 'restore', 'shared', '--force')).toMatchObject({ code: 0, stderr: '' });
    const back = await serveUntilDone(site);
    expect(back.lines.filter(({ to }) => ['creating', 'updating', 'deleting'].includes(String(to)))).toEqual([]);
    expect(await back.end('SIGTERM')).toBe(0);
    expect(releasesIn(site)).toEqual(serversOf({ ...WANTED, release: 2 }));
  },
  180_000,
);

it('keeps every row and event, and what it replaces', async () => {
  const site = await createSite(filesOf(WANTED));
  const embedded = await serveUntilDone(site);
  await embedded.end('SIGTERM');
  await runStore(site, 'backup', 'mine');
  const backup = join(site.folder, 'mine');
  const directory = join(temporaryDirectory(), 'state');
  const options = { directory, force: false, now: Date.now(), renew: () => [], progress: () => undefined };
  const url = await server.create();
  await restoreDatabase({ url }, backup, options);
  const want = contentOf(await readBackup(backup));
  expect(contentOf(await readDatabase({ url }))).toEqual(want);
  expect(existsSync(directory)).toBe(false);

  const store = await openPostgresStore({ url });
  await store.commit([writeText('more', 'one')]);
  await store.close();
  const before = await readDatabase({ url });
  const { former } = await restoreDatabase({ url }, backup, { ...options, force: true });
  expect(contentOf(await readDatabase({ url }))).toEqual(want);
  expect(contentOf(await readBackup(former ?? ''))).toEqual(contentOf(before));
}, 60_000);

it('leaves a database alone that replicas use from other machines', async () => {
  const url = await server.create();
  const replica = new DatabaseConnections({ url, replica: 'host-2' });
  await replica.read((run) => run('SELECT 1'));
  const site = await createSite({});
  writeFileSync(join(site.folder, 'database-url'), url, { mode: 0o600 });
  choose(site, '{ kind: postgres, urlFile: database-url, directory: elsewhere }');
  expect(await runStore(site, 'backup', 'empty')).toMatchObject({ code: 0 });
  const refused = await runStore(site, 'restore', 'empty');
  await replica.close();
  expect(refused.stderr).toMatch(
    / is in use by the replica host-2\. Stop all replicas first\. Nothing was restored\.\n$/,
  );
  expect(await runStore(site, 'restore', 'empty')).toMatchObject({ code: 0 });
}, 60_000);

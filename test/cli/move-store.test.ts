// `treeline store` moves what is recorded from the embedded store into a database and back, on an installation with servers.
import { readFileSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/postgres-adapter.ts';
import { filesOf, serversOf } from '../support/churned-repository.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { createSite, type Site } from '../support/site.ts';
import { releasesIn, runStore, serveUntilDone, WANTED } from '../support/store-operator.ts';

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

it('store import and export move an installation without a recovery or an action', async () => {
  const site = await createSite(filesOf(WANTED));
  const embedded = await serveUntilDone(site);
  expect(await embedded.end('SIGTERM')).toBe(0);
  expect(await runStore(site, 'backup', 'embedded')).toMatchObject({ code: 0 });

  const url = await server.create('empty');
  const name = new URL(url).pathname.slice(1);
  const place = `the database "${name}" at 127.0.0.1:${server.port}`;
  writeFileSync(join(site.folder, 'database-url'), `${url}\n`, { mode: 0o600 });
  choose(site, '{ kind: postgres, urlFile: database-url, directory: state }');
  const imported = await runStore(site, 'import', 'embedded');
  expect(imported).toEqual({ code: 0, stdout: expect.stringContaining(`\nto ${place}\n`), stderr: '' });
  await site.repository.commit(filesOf({ ...WANTED, release: 2 }));
  const shared = await serveUntilDone(site);
  expect(shared.lines.filter(({ msg }) => /recovery begins/.test(String(msg)))).toEqual([]);
  expect(shared.lines.filter(({ to }) => to === 'creating')).toEqual([]);
  const updates = (): unknown[] => shared.lines.filter(({ to }) => to === 'updating');
  await expect.poll(updates).toHaveLength(Object.keys(serversOf(WANTED)).length);

  const beside = await runStore(site, 'restore', 'embedded');
  expect(beside).toMatchObject({ code: 3, stdout: '' });
  expect(beside.stderr).toContain('Stop that controller first. Nothing was restored.');
  expect(await shared.end('SIGTERM')).toBe(0);
  const over = await runStore(site, 'restore', 'embedded');
  expect(over.stderr).toMatch(new RegExp(`^treeline: T${place.slice(1)} has \\d+ commits already\\.`));

  // What was left when the database took over knows less.
  const left = join(site.state, 'store.sqlite');
  choose(site, '{ kind: postgres, urlFile: database-url, directory: state }');
  for (const end of ['', '-wal', '-shm']) await rename(left + end, `${left}.old${end}`).catch(() => undefined);
  expect(await runStore(site, 'export', left)).toMatchObject({ code: 0, stderr: '' });
  choose(site, '{ kind: lowdb, directory: state }');
  const back = await serveUntilDone(site);
  expect(back.lines.filter(({ msg }) => /recovery begins/.test(String(msg)))).toEqual([]);
  expect(back.lines.filter(({ to }) => ['creating', 'updating', 'deleting'].includes(String(to)))).toEqual([]);
  expect(await back.end('SIGTERM')).toBe(0);
  expect(releasesIn(site)).toEqual(serversOf({ ...WANTED, release: 2 }));

  // The embedded store has gone on: a recovery begins with the older backup.
  const other = await server.create();
  writeFileSync(join(site.folder, 'database-url'), other, { mode: 0o600 });
  choose(site, '{ kind: postgres, urlFile: database-url, directory: state }');
  expect(await runStore(site, 'restore', 'embedded')).toMatchObject({ code: 0 });
  const store = await openPostgresStore({ url: other });
  expect(store.read('recovery', 'recovery')?.reason).toBe('the store was restored from a backup');
  expect((await store.events({ after: 0, limit: 10_000 })).events.length).toBeGreaterThan(0);
  await store.close();
}, 180_000);

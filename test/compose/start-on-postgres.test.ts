// A controller on a real PostgreSQL: it makes its tables, waits where that helps, ends where only an operator helps, and goes on after a
// restart with what it has recorded.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { startController } from '../../src/compose.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { Settings } from '../../src/model/settings.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-adapter.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { filesOf, serversOf } from '../support/churned-repository.ts';
import { itInFull } from '../support/count-runs.ts';
import { freePort } from '../support/free-port.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { writeText } from '../support/rows.ts';
import { createSite, type Site } from '../support/site.ts';

const PATIENCE = { timeout: 20_000, interval: 50 };

let server: PostgresServer;
let site: Site;
let lines: JsonMap[];

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());
beforeEach(async () => {
  lines = [];
  site = await createSite({ 'tree.yaml': 'name: global\ntype: common\n' });
});

async function settingsOn(url: string): Promise<Settings> {
  const settings = await loadSettings(site.config, {});
  const { directory } = settings.store;
  const place = { kind: 'settings', url, file: site.config } as const;
  const store = { kind: 'postgres', directory, url: place, caFile: null, poolSize: 4 } as const;
  return { ...settings, store, replica: { name: 'host-1', address: null, leaseSeconds: 10 } };
}

async function start(settings: Settings) {
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const controller = await startController(settings, { log });
  onTestFinished(() => controller.stop());
  return controller;
}

it('a controller creates its tables in an empty database, and continues after a restart', async () => {
  const url = await server.create('empty');
  const settings = await settingsOn(url);
  const first = await start(settings);
  await vi.waitFor(() => expect(first.ready()).toBe(true), PATIENCE);
  expect(lines).toContainEqual(expect.objectContaining({ migrations: ['0001_store'] }));
  await expect(startController(settings, { log: createLog('silent') })).rejects.toThrow(/is in use by another process/);
  await first.stop();
  expect(first.ready()).toContain('it is stopping');
  const store = await openPostgresStore({ url });
  const head = store.read('head', 'head');
  await store.close();
  expect(head?.commit).toBe(await site.repository.head());
  const second = await start(settings);
  await vi.waitFor(() => expect(second.ready()).toBe(true), PATIENCE);
  const [row] = await server.run('SELECT count(*)::int AS count FROM treeline.migrations', url);
  expect(row).toEqual({ count: 1 });
});

it('a controller waits for an unreachable server, and logs it', async () => {
  const url = await server.create();
  const port = await freePort();
  await server.stop();
  const settings = await settingsOn(url);
  const starting = start({ ...settings, management: { host: '127.0.0.1', port, dashboard: false } });
  const health = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
    return answer && { status: answer.status, ...((await answer.json()) as object) };
  };
  const reason = new RegExp(
    `^The database "${new URL(url).pathname.slice(1)}" at 127\\.0\\.0\\.1:\\d+ has failed: connect ECONNREFUSED `,
  );
  const message = expect.stringMatching(new RegExp(`not ready: ${reason.source.slice(1)}`));
  await expect.poll(() => health('/readyz'), PATIENCE).toMatchObject({ status: 503, message });
  expect(await health('/livez')).toMatchObject({ status: 200 });
  expect(await health('/leaderz')).toMatchObject({ status: 503 });
  await server.start();
  const controller = await starting;
  await vi.waitFor(() => expect(controller.ready()).toBe(true), PATIENCE);
  expect(await health('/leaderz')).toMatchObject({ status: 200 });
  const told = lines.map(({ msg }) => msg);
  const waited = 'the store cannot be used yet; it is tried again';
  expect(told.filter((msg) => msg === waited || msg === 'the store can be used')).toContain(waited);
  expect(lines.find(({ msg }) => msg === waited)).toMatchObject({ level: 40, reason: expect.stringMatching(reason) });
  expect(told).toContain('the store can be used');
  expect(JSON.stringify(lines)).not.toMatch(/se%|se%25/);
});

it('a controller waits while the database is read-only', async () => {
  const url = await server.create('empty');
  const name = new URL(url).pathname.slice(1);
  await server.run(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  const settings = await settingsOn(url);
  const starting = start(settings);
  const reason = expect.stringMatching(
    new RegExp(
      `^The database "${name}" at 127\\.0\\.0\\.1:\\d+ can only be read: .*\\(default_transaction_read_only\\)\\. Write`,
    ),
  );
  await expect.poll(() => lines, PATIENCE).toContainEqual(expect.objectContaining({ level: 40, reason }));
  await server.run(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  // Connections keep what they were opened with.
  await server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
  const controller = await starting;
  await vi.waitFor(() => expect(controller.ready()).toBe(true), PATIENCE);
});

it('a controller ends with a wrong password, and closes its parts', async () => {
  const settings = await settingsOn(server.urlOf('made', 'treeline', 'wrong'));
  const error: unknown = await startController(settings, { log: createLog('silent') }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ message: expect.stringContaining('refuses the password of "treeline"') });
  const again = await start(await settingsOn(await server.create()));
  await vi.waitFor(() => expect(again.ready()).toBe(true), PATIENCE);
});

it('an empty database next to files of an earlier controller is a lost store', async () => {
  mkdirSync(join(site.state, 'running'));
  const url = await server.create();
  const controller = await start(await settingsOn(url));
  await vi.waitFor(() => expect(controller.ready()).toBe(true), PATIENCE);
  await controller.stop();
  const store = await openPostgresStore({ url });
  const recovery = store.read('recovery', 'recovery');
  await store.close();
  const reason = 'the database is empty, and the directory of the store has "running" of an earlier one';
  expect(recovery).toMatchObject({ cause: 'store', reason });
});

describe('the record of the last seen database state', () => {
  const WANTED = { release: 1, counts: { shop: 2 } };

  async function serveUntilDone(settings: Settings, wanted = WANTED): Promise<void> {
    const controller = await start(settings);
    const done = Object.keys(serversOf(wanted)).length;
    await vi.waitFor(() => expect(lines.filter(({ to }) => to === 'done')).toHaveLength(done), PATIENCE);
    await controller.stop();
    lines = [];
  }

  async function rowsIn(url: string) {
    const store = await openPostgresStore({ url });
    const rows = { recovery: store.read('recovery', 'recovery'), servers: [...store.list('server').values()] };
    await store.close();
    return rows;
  }

  itInFull('starts a recovery if the database was set back to a backup', async () => {
    site = await createSite(filesOf(WANTED));
    const url = await server.create();
    const name = new URL(url).pathname.slice(1);
    const settings = await settingsOn(url);
    await serveUntilDone(settings);
    await server.run(`CREATE DATABASE ${name}_before TEMPLATE ${name}`);
    const before = await rowsIn(url);
    await site.repository.commit(filesOf({ ...WANTED, release: 2 }));
    await serveUntilDone(settings);
    await server.run(`DROP DATABASE ${name}`);
    await server.run(`ALTER DATABASE ${name}_before RENAME TO ${name}`);
    const suspended = await start(settings);
    const begins = 'a recovery begins: no action starts until an operator resumes it';
    await vi.waitFor(() => expect(lines.map(({ msg }) => msg)).toContain(begins), PATIENCE);
    await suspended.stop();
    const after = await rowsIn(url);
    expect(before.recovery).toBeUndefined();
    expect(after.recovery?.reason).toMatch(/^the database was set back: this replica has seen its revision \d+ at /);
    const incarnations = ({ servers }: typeof after) => servers.map(({ incarnation }) => incarnation);
    expect(Math.min(...incarnations(after))).toBeGreaterThan(Math.max(...incarnations(before)));
    // Once.
    const again = await start(settings);
    await vi.waitFor(() => expect(again.ready()).toBe(true), PATIENCE);
    await again.stop();
    const last = await rowsIn(url);
    expect([last.recovery, incarnations(last)]).toEqual([after.recovery, incarnations(after)]);
  });

  it('a controller refuses the database of another installation', async () => {
    const [url, other] = [await server.create(), await server.create('empty')];
    const settings = await settingsOn(url);
    const first = await start(settings);
    await vi.waitFor(() => expect(first.ready()).toBe(true), PATIENCE);
    await first.stop();
    await migrate({ url: other });
    const store = await openPostgresStore({ url: other });
    await store.commit([writeText('a', 'one')]);
    await store.close();
    const onOther = { ...settings, ...(await settingsOn(other)) };
    await expect(startController(onOther, { log: createLog('silent') })).rejects.toThrow(
      /has the rows of another installation than this replica has used, which was in the database "\w+" at /,
    );
    const embedded = await loadSettings(site.config, {});
    await expect(startController(embedded, { log: createLog('silent') })).rejects.toThrow(
      /^The settings name the embedded store in \S+, and this replica recorded what it did in the database "/,
    );
    expect(existsSync(join(site.state, 'store.sqlite'))).toBe(false);
    rmSync(join(site.state, 'database-seen.json'));
    const again = await start(embedded);
    await again.stop();
  });
});

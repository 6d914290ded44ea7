// What former versions have left behind, as record.ts has recorded it by running them: settings, a stacks repository made of the sample of
// their time, a store, and the servers of a simulated provider. This version goes on from there without one action.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import today from '../../schemas/settings.schema.json' with { type: 'json' };
import { createLog } from '../../src/base/log.ts';
import { startController } from '../../src/compose.ts';
import { isMap } from '../../src/model/json.ts';
import { SimulatedServers } from '../../src/providers/simulated-servers.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { checksumOf } from '../../src/store/piece.ts';
import { DatabaseConnections } from '../../src/store/postgres/connection.ts';
import { existing, runController } from '../support/running-controller.ts';
import { IS_ON_POSTGRES } from '../support/scenario-database.ts';
import { simulatedRows } from '../support/simulated-rows.ts';
import { createSite, type Site } from '../support/site.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Of the version that is in the name, the last commit. Of `journal-1` rows had several forms; nothing reads them. */
const EMBEDDED = ['journal-2', 'journal-3', 'journal-4', 'sqlite-1', 'sqlite-2'];
const ON_DATABASES = ['postgres-1'];
const STAGING = 'stacks/instances/shop/shop-staging.yaml';
const REFUSED = 'was written by another version of Treeline: it has';

interface Told {
  readonly statuses: Readonly<Record<string, string>>;
  readonly servers: Readonly<Record<string, unknown>>;
}

/** Returns what was recorded, at its place, and the commit that registers an administrator of this test upon it. */
async function takeOver(name: string): Promise<{ readonly site: Site; readonly told: Told; readonly commit: string }> {
  const site = await createSite({});
  const { folder, repository } = site;
  const registration = await repository.git('show', '--format=', '--name-only', 'main');
  const client = await repository.git('show', `main:${registration}`);
  const told = unpack(name, folder);
  takeServers(site, join(site.state, 'simulated-lab.json'));
  await repository.git('fetch', '--quiet', join(folder, 'stacks.bundle'), '+main:main');
  if (IS_ON_POSTGRES) await fillDatabase(folder);
  return { site, told, commit: await repository.commit({ [registration]: `${client}\n` }) };
}

/** Those versions kept the servers of a simulated provider as lines of JSON. Their file is no state of the controller. */
function takeServers(site: Site, lines: string): void {
  const servers = new SimulatedServers(site.servers);
  for (const line of readFileSync(lines, 'utf8').trimEnd().split('\n')) {
    const { name, properties, actions } = JSON.parse(line);
    for (const action of actions) servers.change(name, { action, properties });
  }
  servers.close();
}

function unpack(name: string, folder: string): Told {
  execFileSync('tar', ['-xzf', join(import.meta.dirname, `${name}.tar.gz`), '-C', folder]);
  return JSON.parse(readFileSync(join(folder, 'told.json'), 'utf8'));
}

/** Makes the tables as they were, in place of those of this version. */
async function fillDatabase(folder: string): Promise<void> {
  const { migrations, rows } = JSON.parse(readFileSync(join(folder, 'state/database.json'), 'utf8'));
  const connections = new DatabaseConnections({ url: readFileSync(join(folder, 'database-url'), 'utf8') });
  await connections.session(async (_client, run) => {
    await run('DROP SCHEMA treeline CASCADE; CREATE SCHEMA treeline');
    await run(
      'CREATE TABLE treeline.migrations (id serial PRIMARY KEY, name text NOT NULL, run_on timestamp NOT NULL)',
    );
    for (const [name, statements] of migrations) {
      await run(statements);
      await run(`INSERT INTO treeline.migrations (name, run_on) VALUES ('${name}', now())`);
    }
    for (const [table, values] of Object.entries(rows)) {
      await run(`DELETE FROM treeline.${table}`);
      if (values === null) continue;
      await run(`INSERT INTO treeline.${table} SELECT * FROM json_populate_recordset(null::treeline.${table}, $1)`, [
        values,
      ]);
    }
  });
  await connections.close();
}

/** Returns the last call that has changed a server, by its name: the simulated provider keeps all of them. */
function lastCalls({ servers }: Site): Readonly<Record<string, unknown>> {
  return Object.fromEntries(simulatedRows(servers).map(({ name, actions }) => [name, actions.at(-1)]));
}

it.each(IS_ON_POSTGRES ? ON_DATABASES : EMBEDDED)('goes on from what %s has left without one action', async (name) => {
  const { site, told, commit } = await takeOver(name);
  const { repository } = site;
  const before = lastCalls(site);
  const controller = await runController(site);
  await controller.untilDone(commit, 'shop-production', 'shop-staging');
  expect(Object.values(told.statuses)).toEqual(['Suspended', 'Done', 'Done']);
  for (const [instance, status] of Object.entries(told.statuses)) {
    expect(await controller.status(instance)).toBe(status);
    expect((await controller.get(`/stacks/instances/${instance}/status/full`)).body).toEqual(told.servers[instance]);
  }
  expect(lastCalls(site)).toEqual(before);
  expect((await controller.get('/operations/problems')).body).toMatchObject({ problems: [] });

  const staging = await repository.git('show', `main:${STAGING}`);
  const next = await repository.commit({ [STAGING]: staging.replace('web_count: "3"', 'web_count: "4"') });
  await controller.untilDone(next, 'shop-staging');
  expect(Object.keys(existing(site))).toEqual([...Object.keys(before), 'stage-web-4'].toSorted());
});

describe.runIf(!IS_ON_POSTGRES)('refuses, and leaves as it is,', () => {
  async function expectRefusal(site: Site, message: string): Promise<void> {
    const read = (): unknown =>
      readdirSync(site.state)
        .filter((file) => !file.startsWith('lock'))
        .map((file) => [file, readFileSync(join(site.state, file), 'base64')]);
    const before = read();
    const log = createLog('silent', { write: () => undefined });
    await expect(startController(await loadSettings(site.config), { log })).rejects.toThrow(message);
    expect(read()).toEqual(before);
  }

  function changeStore({ state }: Site, change: (database: DatabaseSync) => void): void {
    const database = new DatabaseSync(join(state, 'store.sqlite'));
    change(database);
    database.close();
  }

  it('a store of the version before those', async () => {
    await expectRefusal((await takeOver('journal-1')).site, `${REFUSED} format version 1.`);
  });

  it('a store of a newer version', async () => {
    const { site } = await takeOver('sqlite-2');
    changeStore(site, (database) => database.exec('PRAGMA user_version = 6'));
    await expectRefusal(site, `${REFUSED} format version 6, not 5.`);
  });

  /** Writes rows of a kind again with what `change` returns for their values, under the kind `as`. */
  function changeRows(site: Site, kind: string, change: (value: string) => string, as = kind): void {
    changeStore(site, (database) => {
      const set = database.prepare('UPDATE rows SET kind = ?, value = ?, checksum = ? WHERE kind = ? AND name = ?');
      for (const row of database.prepare('SELECT name, value FROM rows WHERE kind = ?').all(kind)) {
        const [name, value] = [String(row.name), change(String(row.value))];
        set.run(as, value, checksumOf(as, name, value), kind, name);
      }
    });
  }

  it('rows of a kind that only a newer version knows', async () => {
    const { site } = await takeOver('sqlite-2');
    changeRows(site, 'suspension', String, 'tomorrow');
    await expectRefusal(site, `${REFUSED} rows of a kind it does not know, "tomorrow".`);
  });

  // So they were for half an hour, while rows were read in the opposite order.
  it('wanted specs of the kind "wanted"', async () => {
    const { site } = await takeOver('sqlite-2');
    changeRows(site, 'desired', String, 'wanted');
    await expectRefusal(site, `${REFUSED} the row of the server "orders-db" without its "wanted".`);
  });

  it('rows with other fields', async () => {
    const { site } = await takeOver('sqlite-2');
    const path = join(site.state, 'store.sqlite');
    const good = readFileSync(path);
    const rows: readonly (readonly [kind: string, from: string | RegExp, to: string, row: string, field: string])[] = [
      ['suspension', '"until"', '"till"', 'suspension "orders-db"', 'until'],
      ['head', /.*/, '["x"]', 'head "head"', 'commit'],
      ['head', '{', '', 'head "head"', 'commit'],
      ['server', '"applied":"wanted"', '"applied":{}', 'server "orders-db"', 'applied'],
      ['server', '"action":null', '"action":{"spec":1}', 'server "orders-db"', 'action'],
      ['desired', '"layers"', '"layer"', 'server "orders-db"', 'wanted'],
    ];
    for (const [kind, from, to, row, field] of rows) {
      writeFileSync(path, good);
      changeRows(site, kind, (value) => value.replace(from, to));
      await expectRefusal(site, `${REFUSED} the row of the ${row} without its "${field}". Start that version on it.`);
    }
  });
});

describe.runIf(!IS_ON_POSTGRES)('settings', () => {
  /** The paths of all keys that a schema allows, with what they may be. */
  function keysOf(schema: unknown, path = ''): string[] {
    if (!isMap(schema)) return [];
    const values = Array.isArray(schema.enum) ? schema.enum.map((value) => `${path}=${value}`) : [];
    const keys = isMap(schema.properties) ? Object.entries(schema.properties) : [];
    const below = keys.flatMap(([key, value]) => [`${path}.${key}`, ...keysOf(value, `${path}.${key}`)]);
    return [...values, ...below, ...keysOf(schema.items, `${path}[]`)];
  }

  it.each(['journal-1', ...EMBEDDED, ...ON_DATABASES])(
    'of %s have no key or choice that this version refuses',
    (name) => {
      const folder = temporaryDirectory();
      unpack(name, folder);
      const keys = keysOf(JSON.parse(readFileSync(join(folder, 'settings.schema.json'), 'utf8')));
      expect(keys.length).toBeGreaterThan(40);
      expect(new Set(keysOf(today))).toEqual(new Set([...keysOf(today), ...keys]));
    },
  );
});

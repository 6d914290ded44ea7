// The store on PostgreSQL: the contract, what other processes see, and what happens when connections or the server
// are lost. One server serves all tests; the last ones stop it.

import { connect, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createLog } from '../../../src/base/log.ts';
import type { NewEvent } from '../../../src/model/instance-event.ts';
import type { LowdbStore } from '../../../src/store/lowdb-store.ts';
import { DatabaseConnections, type DatabaseLimits } from '../../../src/store/postgres/connection.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/postgres-adapter.ts';
import { readSeen, SeenFile } from '../../../src/store/postgres/seen-state.ts';
import { LOCKED_STATE } from '../../../src/store/postgres/statements.ts';
import { StoreError } from '../../../src/store/store-error.ts';
import { describeStore } from '../../contract/store.ts';
import { listenInTest } from '../../support/listen-in-test.ts';
import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';
import { serverRow, textRow, writeText } from '../../support/rows.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

const ALL = { after: 0, limit: 10_000 };
const HASTE = { pauseMs: 20 };

/** The database of the contract, which each test leaves empty. */
let shared: string | undefined;

describeStore('PostgreSQL', async () => {
  shared ??= await server.create();
  const url = shared;
  return { open: () => openPostgresStore({ url }), remove: () => server.clear(url) };
});

/** Opens a store that is closed when the test is over. */
async function open(
  url: string,
  options?: PostgresStoreOptions,
  limits: Partial<DatabaseLimits> = HASTE,
): Promise<LowdbStore> {
  const store = await openPostgresStore({ url, limits }, options);
  onTestFinished(() => store.close());
  return store;
}

function eventOf(reason: string, instance = 'shop'): NewEvent {
  const event = { instance, time: '2026-11-20T10:13:56.000Z', resource: 'web-1', from: null, to: 'done' as const };
  return { ...event, reason, commit: null, client: null };
}

describe('two stores on one database', () => {
  it('see rows, removed rows and events of each other after a refresh', async () => {
    const url = await server.create();
    const [one, two] = [await open(url), await open(url)];
    await one.commit([writeText('a', 'one'), writeText('b', 'two')], [eventOf('first')]);
    await one.commit([{ kind: 'server', name: 'web-1', value: serverRow(), expected: undefined }]);
    expect(two.list('node').size).toBe(0);
    await two.refresh();
    expect(two.list('node')).toEqual(one.list('node'));
    const kept = two.read('node', 'a');
    const row = serverRow({ state: 'done', applied: serverRow().wanted });
    const ofOne = one.read('server', 'web-1');
    await one.commit([
      { kind: 'server', name: 'web-1', value: { ...row, wanted: ofOne?.wanted ?? null }, expected: ofOne },
    ]);
    await one.commit([writeText('b', null, one.read('node', 'b'))], [eventOf('second')]);
    await two.refresh();
    expect(two.read('server', 'web-1')).toEqual(one.read('server', 'web-1'));
    expect(two.read('node', 'b')).toBeUndefined();
    expect(two.read('node', 'a')).toBe(kept);
    expect(await two.events(ALL)).toEqual(await one.events(ALL));
  });
});

describe('a lost connection', () => {
  it.each<[AtCommit, boolean]>([
    ['cut before', false],
    ['cut after', true],
  ])('at a commit (%s) leaves no doubt about its outcome', async (atCommit, isSaved) => {
    const url = await server.create();
    const next: { atCommit: AtCommit } = { atCommit: 'pass' };
    const [one, two] = [await open(await cutCommits(url, next)), await open(url)];
    await one.commit([writeText('a', 'one')]);
    next.atCommit = atCommit;
    const cut = one.commit([writeText('b', 'two')], [eventOf('cut')]);
    if (isSaved) await cut;
    else await expect(cut).rejects.toThrow(/onnection.* Nothing was saved/);
    await two.refresh();
    expect(two.read('node', 'b')).toEqual(isSaved ? textRow('two') : undefined);
    await one.commit([writeText('c', 'three')], [eventOf('next')]);
    await two.refresh();
    expect(two.list('node')).toEqual(one.list('node'));
    expect(await two.events(ALL)).toEqual(await one.events(ALL));
  });

  it('at a commit is looked up while the lease lasts', async () => {
    const next: { atCommit: AtCommit; isAway?: boolean } = { atCommit: 'pass' };
    const lease: { fencing: number | undefined; leaseSeconds: number } = { fencing: 0, leaseSeconds: 10 };
    const store = await open(await cutCommits(await server.create(), next), { lease });
    Object.assign(next, { atCommit: 'cut after', isAway: true });
    const first = store.commit([writeText('a', 'one')]);
    await setTimeout(1_000);
    next.isAway = false;
    await first;
    Object.assign(next, { atCommit: 'cut after', isAway: true });
    const last = store.commit([writeText('b', 'two')]);
    await setTimeout(500);
    lease.fencing = undefined;
    await expect(last).rejects.toThrow('It is unknown whether the last commit was saved');
    expect(store.list('node').size).toBe(1);
    next.isAway = false;
    await store.refresh();
    expect(store.list('node').size).toBe(2);
  });

  it('between commits has no effect', async () => {
    const url = await server.create();
    const store = await open(url);
    await store.commit([writeText('a', 'one')]);
    await server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'treeline'`);
    await store.commit([writeText('b', 'two')]);
    expect(store.list('node').size).toBe(2);
  });
});

describe('the store refuses', () => {
  it('a database with changed rows', async () => {
    const url = await server.create();
    const store = await open(url);
    await store.commit([writeText('a', 'one'), writeText('b', 'two')], [eventOf('first')]);
    const refused = async (statement: string, undone: string): Promise<string> => {
      await server.run(statement, url);
      const error: unknown = await openPostgresStore({ url }).catch((thrown: unknown) => thrown);
      await server.run(undone, url);
      expect(error).toBeInstanceOf(StoreError);
      return String(error);
    };
    const move = (by: string): string => `UPDATE treeline.rows SET revision = revision ${by} WHERE name = 'a'`;
    expect(await refused(move('+ 7'), move('- 7'))).toContain('the node "a" is newer than the last commit');
  });

  it('a database with rows of another version, also in an open store', async () => {
    const url = await server.create();
    const [store, beside] = [await open(url), await open(url)];
    await store.commit([{ kind: 'server', name: 'web-1', value: serverRow(), expected: undefined }]);
    await server.run(`UPDATE treeline.rows SET kind = 'wanted', revision = revision WHERE kind = 'server'`, url);
    const said = 'was written by another version of Treeline: it has rows of a kind it does not know, "wanted"';
    await expect(openPostgresStore({ url })).rejects.toThrow(said);
    await expect(beside.refresh()).rejects.toThrow(said);
    expect(beside.list('server').size).toBe(0);
  });

  it('a commit to another database, and to one that was set back', async () => {
    const url = await server.create();
    const store = await open(url);
    await store.commit([writeText('a', 'one')]);
    await store.commit([writeText('b', 'two')]);
    await server.run('UPDATE treeline.state SET revision = 1', url);
    await expect(store.commit([writeText('c', 'three')])).rejects.toThrow(
      'was set back: its last commit is 1, and this process has seen 2',
    );
    await expect(store.refresh()).rejects.toThrow('was set back');
    await server.run('UPDATE treeline.state SET revision = 2, installation = gen_random_uuid()', url);
    await expect(store.commit([writeText('c', 'three')])).rejects.toThrow('the rows of another installation');
  });

  it.each([2, 4])('a database that was set back and continued to commit %i', async (last) => {
    const url = await server.create();
    const store = await open(url);
    await store.commit([writeText('a', 'one')]);
    await store.commit([writeText('b', 'two')]);
    await server.run(
      `DELETE FROM treeline.rows WHERE revision = 2; INSERT INTO treeline.terms VALUES (1, 2);
       UPDATE treeline.state SET revision = 1`,
      url,
    );
    const other = await open(url);
    for (let revision = 2; revision <= last; revision++) await other.commit([writeText(`c${revision}`, 'x')]);
    const want = 'was set back: its commit 2 is another one than this process has seen. Restart Treeline';
    await expect(store.refresh()).rejects.toThrow(want);
    if (last > 2) await expect(store.commit([writeText('d', 'y')])).rejects.toThrow('was set back');
    expect([...store.list('node').keys()]).toEqual(['a', 'b']);
    await other.refresh();
  });
});

describe('the last seen database state of a replica', () => {
  /** Opens a store as the replica of a directory does. */
  async function openAs(directory: string, url: string) {
    const seen = new SeenFile({ directory, clock: systemClock, log: createLog('silent') });
    const store = await open(url, { seen });
    return { seen, store };
  }

  it('includes every commit that it made or read', async () => {
    const [url, directory, other] = [await server.create(), temporaryDirectory(), temporaryDirectory()];
    const { store, seen } = await openAs(directory, url);
    const { store: reader } = await openAs(other, url);
    expect([seen.isFirst, readSeen(directory)]).toEqual([true, undefined]);
    await store.commit([writeText('a', 'one')]);
    expect(readSeen(directory)).toMatchObject({ revision: 1, fencing: 0 });
    await reader.refresh();
    expect(readSeen(other)).toMatchObject({ revision: 1, fencing: 0 });
  });

  it.each([1, 2, 3])('shows that the database was set back, also with %i new commits', async (last) => {
    const [url, directory] = [await server.create(), temporaryDirectory()];
    const { store } = await openAs(directory, url);
    await store.commit([writeText('a', 'one')]);
    await store.commit([writeText('b', 'two')]);
    expect((await openAs(directory, url)).seen.lost).toBeUndefined();
    const restored = `DELETE FROM treeline.rows WHERE revision = 2; UPDATE treeline.state SET revision = 1`;
    await server.run(`${restored}; INSERT INTO treeline.terms VALUES (1, 2)`, url);
    const another = await open(url);
    for (let revision = 2; revision <= last; revision++) await another.commit([writeText(`c${revision}`, 'x')]);
    const { seen } = await openAs(directory, url);
    expect(seen.lost).toMatchObject({ revision: 2, fencing: 0 });
    expect(readSeen(directory)).toMatchObject({ revision: 2, fencing: 0 });
    seen.accept();
    expect(readSeen(directory)).toMatchObject({ revision: last, fencing: last === 1 ? 0 : 1 });
  });
});

it('the store stops waiting for a hanging commit of another process', async () => {
  const url = await server.create();
  const store = await open(url, {}, { ...HASTE, lockMs: 200 });
  const holder = new DatabaseConnections({ url });
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const holding = holder.write(async (run) => {
    await run(LOCKED_STATE);
    begun.resolve();
    await held.promise;
  });
  await begun.promise;
  await expect(store.commit([writeText('b', 'two')])).rejects.toThrow(
    /has failed: canceling statement due to lock timeout \(55P03\)\. .* Nothing was saved/,
  );
  held.resolve();
  await holding;
  await store.commit([writeText('b', 'two')]);
  await holder.close();
  // Nothing is left on the connections, which a pooler would give to another client.
  const [row] = await server.run(`SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory'`, url);
  expect(row).toEqual({ count: 0 });
});

it('commits fail with the reason while the server is down, and reads continue', async () => {
  const url = await server.create();
  const store = await open(url, {}, { ...HASTE, connectMs: 2_000 });
  await store.commit([writeText('a', 'one')]);
  await server.stop();
  const failing = store.commit([writeText('b', 'two')]);
  await expect(failing).rejects.toThrow(`at 127.0.0.1:${server.port} has failed: connect ECONNREFUSED`);
  await expect(failing).rejects.toThrow('Nothing was saved.');
  await expect(failing).rejects.toBeInstanceOf(StoreError);
  expect(store.read('node', 'a')).toEqual(textRow('one'));
  await server.start();
  await store.commit([writeText('b', 'two')]);
  expect(store.list('node').size).toBe(2);
});

/** What is done when a commit passes: nothing, cut before the server has it, or cut before its answer comes back. */
type AtCommit = 'pass' | 'cut before' | 'cut after';

/**
 * Returns the URL of a database behind a line that can be cut at a commit. `next` says what is done with the next one, and
 * whether the line stays away for new connections.
 */
async function cutCommits(url: string, next: { atCommit: AtCommit; isAway?: boolean }): Promise<string> {
  const server = createServer((socket) => {
    if (next.isAway === true) {
      socket.destroy();
      return;
    }
    const onward = connect(Number(new URL(url).port), '127.0.0.1');
    for (const end of [socket, onward]) {
      end.on('error', () => end.destroy());
      end.on('close', () => {
        socket.destroy();
        onward.destroy();
      });
    }
    let isCut = false;
    onward.on('data', (bytes) => {
      if (isCut) socket.destroy();
      else socket.write(bytes);
    });
    socket.on('data', (bytes) => {
      const isCommit = bytes.includes('COMMIT\0');
      if (isCommit && next.atCommit === 'cut before') socket.destroy();
      else onward.write(bytes);
      isCut ||= isCommit && next.atCommit === 'cut after';
      if (isCommit) next.atCommit = 'pass';
    });
  });
  const port = await listenInTest(server);
  return url.replace(/:\d+\//, `:${port}/`);
}

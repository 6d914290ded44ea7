// The store on PostgreSQL: the contract, what other processes see, and what happens when connections or the server
// are lost. One server serves all tests; the last ones stop it.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { NewEvent } from '../../../src/model/instance-event.ts';
import type { DocumentAdapter } from '../../../src/store/document-adapter.ts';
import type { LowdbStore, LowdbStoreOptions } from '../../../src/store/lowdb-store.ts';
import type { DatabaseLimits } from '../../../src/store/postgres/connection.ts';
import { openPostgresStore, PostgresAdapter } from '../../../src/store/postgres/postgres-adapter.ts';
import { StoreError } from '../../../src/store/store-error.ts';
import { describeStore } from '../../contract/store.ts';
import { pausing } from '../../support/pausing.ts';
import { type AtCommit, cutCommits, type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';
import { serverRow, textRow, writeText } from '../../support/rows.ts';

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

function wrap(adapter: DocumentAdapter, replaced: Partial<DocumentAdapter>): DocumentAdapter {
  return {
    read: () => adapter.read(),
    write: (document) => adapter.write(document),
    commit: (...all) => adapter.commit(...all),
    revision: () => adapter.revision(),
    readChanges: async (...all) => adapter.readChanges?.(...all),
    close: () => adapter.close(),
    ...replaced,
  };
}

/** Opens a store that is closed when the test is over. */
async function open(
  url: string,
  options?: LowdbStoreOptions,
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
  it('see each other after a refresh: rows, removed rows, parts of servers, events', async () => {
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
    expect(await two.events('shop', ALL)).toEqual(await one.events('shop', ALL));
    expect(two.rowBytes).toBe(one.rowBytes);
  });

  it('drop the same events, also all of an instance', async () => {
    const url = await server.create();
    const [one, two] = [await open(url), await open(url)];
    await one.commit(
      [],
      Array.from({ length: 1_100 }, (_, index) => eventOf(`${index}`)),
    );
    await two.refresh();
    await one.commit([], [eventOf('last', 'mail')]);
    await two.refresh();
    expect(await two.events('shop', ALL)).toEqual(await one.events('shop', ALL));
    const adapter = new PostgresAdapter({ url }, pausing());
    const dropping = { rows: [], events: [['shop', Number.MAX_SAFE_INTEGER, null] as const] };
    await adapter.commit(
      (await adapter.revision()) + 1,
      (async function* () {
        yield dropping;
      })(),
    );
    await adapter.close();
    await two.refresh();
    expect((await two.events('shop', ALL)).events).toEqual([]);
    await two.commit([], [eventOf('again')]);
    await one.refresh();
    expect((await one.events('shop', ALL)).events.map(({ reason }) => reason)).toEqual(['again']);
    const third = await open(url);
    expect(await third.events('shop', ALL)).toEqual(await one.events('shop', ALL));
  });

  it('replace everything by a whole document, which the other sees', async () => {
    const url = await server.create();
    const [one, two] = [await open(url), await open(url)];
    await one.commit([writeText('a', 'one')], [eventOf('gone')]);
    await two.refresh();
    const adapter = new PostgresAdapter({ url }, pausing());
    const document = await adapter.read();
    document.tables.node.clear();
    document.tables.node.set('b', textRow('two'));
    await adapter.write(document);
    await adapter.close();
    await two.refresh();
    expect([...two.list('node')]).toEqual([['b', textRow('two')]]);
    const third = await open(url);
    expect([...third.list('node')]).toEqual([['b', textRow('two')]]);
    expect(third.rowBytes).toBe(two.rowBytes);
  });
});

describe('a lost connection', () => {
  it.each<[AtCommit, boolean]>([
    ['cut before', false],
    ['cut after', true],
  ])('at a commit (%s) leaves no doubt', async (atCommit, isSaved) => {
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
    expect(await two.events('shop', ALL)).toEqual(await one.events('shop', ALL));
  });

  it('at a commit, with a database that stays away, fails that commit and finds it before the next one', async () => {
    const next: { atCommit: AtCommit; isAway?: boolean } = { atCommit: 'pass' };
    const store = await open(await cutCommits(await server.create(), next));
    await store.commit([writeText('a', 'one')]);
    const cut = store.commit([writeText('b', 'two')], [eventOf('cut')]);
    Object.assign(next, { atCommit: 'cut after', isAway: true });
    await expect(cut).rejects.toThrow(
      /during a commit\. Whether it was saved shows before the next one, when the database can be read/,
    );
    expect(store.read('node', 'b')).toBeUndefined();
    await expect(store.commit([writeText('c', 'three')])).rejects.toBeInstanceOf(StoreError);
    next.isAway = false;
    // The row is there: this one expects none.
    await expect(store.commit([writeText('b', 'three')])).rejects.toMatchObject({ code: 'conflict' });
    await store.commit([writeText('b', 'three', store.read('node', 'b'))]);
    expect((await store.events('shop', ALL)).events).toHaveLength(1);
  });

  it('in the middle of a commit saves nothing of it, and the next one is saved', async () => {
    const url = await server.create();
    const killing = async (): Promise<void> => {
      await server.run(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${new URL(url).pathname.slice(1)}' AND pid <> pg_backend_pid()`,
      );
    };
    let isKilled = false;
    const adapting = (adapter: DocumentAdapter): DocumentAdapter =>
      wrap(adapter, {
        commit: (revision, pieces) => adapter.commit(revision, isKilled ? pieces : killAfterFirst(pieces, killing)),
      });
    async function* killAfterFirst<Piece>(
      pieces: AsyncIterable<Piece>,
      kill: () => Promise<void>,
    ): AsyncGenerator<Piece> {
      for await (const piece of pieces) {
        yield piece;
        if (!isKilled) await kill();
        isKilled = true;
      }
    }
    const store = await open(url, { adapting });
    await expect(store.commit([writeText('a', 'one')])).rejects.toThrow(/connection.* Nothing was saved/);
    expect(store.failure?.reason).toContain('Nothing was saved');
    await store.commit([writeText('a', 'two')]);
    expect(store.failure).toBeUndefined();
    const reopened = await open(url);
    expect(reopened.read('node', 'a')?.oid).toBe('two');
  });

  it('between commits is not noticed', async () => {
    const url = await server.create();
    const store = await open(url);
    await store.commit([writeText('a', 'one')]);
    await server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'treeline'`);
    await store.commit([writeText('b', 'two')]);
    expect(store.list('node').size).toBe(2);
  });
});

describe('refused', () => {
  it('is a database with other rows than those that were written', async () => {
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
    expect(await refused(move('+ 7'), move('- 7'))).toContain(
      'the row of the node "a" is of commit 8, and the last commit is 1',
    );
    const hide = (kind: string): string => `UPDATE treeline.rows SET value = NULL WHERE name = '${kind}'`;
    expect(await refused(hide('b'), 'SELECT 1')).toMatch(/its rows take \d+ bytes, and \d+ were written/);
  });

  it('is a database with rows that this version cannot go on from, also by a store that is open', async () => {
    const url = await server.create();
    const [store, beside] = [await open(url), await open(url)];
    await store.commit([{ kind: 'server', name: 'web-1', value: serverRow(), expected: undefined }]);
    await server.run(`UPDATE treeline.rows SET kind = 'wanted', revision = revision WHERE kind = 'server'`, url);
    const said = 'was written by another version of Treeline: it has rows of a kind it does not know, "wanted"';
    await expect(openPostgresStore({ url })).rejects.toThrow(said);
    await expect(beside.refresh()).rejects.toThrow(said);
    expect(beside.list('server').size).toBe(0);
  });

  it('is a commit to another database, and to one that was set back', async () => {
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

  it.each([2, 4])(
    'is a database that was set back and has gone on to commit %i, where it would show a mixture',
    async (last) => {
      const url = await server.create();
      const store = await open(url);
      await store.commit([writeText('a', 'one')]);
      const before = await server.run('SELECT bytes FROM treeline.state', url);
      await store.commit([writeText('b', 'two')]);
      await server.run(
        `DELETE FROM treeline.rows WHERE revision = 2; INSERT INTO treeline.terms VALUES (1, 2);
       UPDATE treeline.state SET revision = 1, bytes = ${before[0]?.bytes}`,
        url,
      );
      const other = await open(url);
      for (let revision = 2; revision <= last; revision++) await other.commit([writeText(`c${revision}`, 'x')]);
      const want = 'was set back: its commit 2 is another one than this process has seen. Restart Treeline';
      await expect(store.refresh()).rejects.toThrow(want);
      if (last > 2) await expect(store.commit([writeText('d', 'y')])).rejects.toThrow('of another process');
      expect([...store.list('node').keys()]).toEqual(['a', 'b']);
      await other.refresh();
    },
  );
});

it('gives up waiting for a process that does not end its commit, and leaves nothing on its connections', async () => {
  const url = await server.create();
  const store = await open(url, {}, { ...HASTE, lockMs: 200 });
  const holder = new PostgresAdapter({ url }, pausing());
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const holding = holder.commit(
    1,
    (async function* () {
      yield { rows: [['node', 'a', JSON.stringify(textRow('one'))] as const], events: [] };
      begun.resolve();
      await held.promise;
    })(),
  );
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

it('a server that stops and starts again: commits fail with the reason, reads go on, and the next commit is saved', async () => {
  const url = await server.create();
  const store = await open(url, {}, { ...HASTE, connectMs: 2_000 });
  await store.commit([writeText('a', 'one')]);
  await server.stop();
  const failing = store.commit([writeText('b', 'two')]);
  await expect(failing).rejects.toThrow(`at 127.0.0.1:${server.port} refuses connections.`);
  await expect(failing).rejects.toThrow('Nothing was saved.');
  await expect(failing).rejects.toBeInstanceOf(StoreError);
  expect(store.read('node', 'a')).toEqual(textRow('one'));
  await server.start();
  await store.commit([writeText('b', 'two')]);
  expect(store.list('node').size).toBe(2);
});

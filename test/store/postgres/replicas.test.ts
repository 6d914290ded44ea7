// The processes that share a database, on a real server: when marks of removed rows go, and what the leader warns of.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import type { LowdbStore } from '../../../src/store/lowdb-store.ts';
import type { CommitLease } from '../../../src/store/postgres/lease.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-adapter.ts';
import { Replicas } from '../../../src/store/postgres/replicas.ts';
import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';
import { writeText } from '../../support/rows.ts';

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

const LEADS: CommitLease = { fencing: 0, leaseSeconds: 10 };
const STANDS_BY: CommitLease = { fencing: undefined, leaseSeconds: 10 };
const SETTINGS = { 'source.url': 'https://git.example/stacks.git' };

interface Replica {
  readonly store: LowdbStore;
  readonly replicas: Replicas;
  /** What it warned of. */
  readonly warnings: unknown[];
}

async function open(
  url: string,
  name: string,
  {
    lease = STANDS_BY,
    settings = SETTINGS as Readonly<Record<string, string>>,
    isAlone = false,
  }: { lease?: CommitLease; settings?: Readonly<Record<string, string>>; isAlone?: boolean } = {},
): Promise<Replica> {
  const store = await openPostgresStore({ url });
  const warnings: unknown[] = [];
  const log = createLog('warn', {
    write(line) {
      const { level, time, ...fields } = JSON.parse(line);
      warnings.push(fields);
    },
  });
  const replicas = new Replicas(
    { url },
    { name, address: `${name}.example:7443`, certificate: `of ${name}`, settings, lease, log, isAlone },
  );
  onTestFinished(async () => {
    await replicas.close();
    await store.close();
  });
  return { store, replicas, warnings };
}

async function marks(url: string): Promise<readonly unknown[]> {
  const rows = await server.run('SELECT name FROM treeline.rows WHERE value IS NULL ORDER BY name', url);
  return rows.map(({ name }) => name);
}

/** Makes all marks older than a day. */
async function age(url: string): Promise<void> {
  await server.run(`UPDATE treeline.rows SET changed_at = changed_at - interval '25 hours' WHERE value IS NULL`, url);
}

describe('marks of removed rows', () => {
  it('are kept for a day', async () => {
    const url = await server.create();
    const leader = await open(url, 'one', { lease: LEADS });
    const standby = await open(url, 'two');
    await leader.store.commit([writeText('a', 'x'), writeText('b', 'x')]);
    await leader.store.commit([writeText('a', null, leader.store.read('node', 'a'))]);
    await leader.replicas.report();
    expect(await marks(url)).toEqual(['a']);
    await age(url);
    // Not the leader.
    await standby.replicas.report();
    expect(await marks(url)).toEqual(['a']);
    await leader.replicas.report();
    expect(await marks(url)).toEqual([]);
  });

  it('make a replica that was away for longer read everything', async () => {
    const url = await server.create();
    const leader = await open(url, 'one', { lease: LEADS });
    const silent = await open(url, 'two');
    const names = ['a', 'b', 'c'];
    await leader.store.commit(names.map((name) => writeText(name, 'old')));
    await silent.store.refresh();
    const read = (name: string) => leader.store.read('node', name);
    await leader.store.commit(['a', 'b'].map((name) => writeText(name, null, read(name))));
    await leader.store.commit([writeText('b', 'again'), writeText('d', 'new')]);
    await leader.store.refresh();
    await age(url);
    await leader.replicas.report();
    expect(await marks(url)).toEqual([]);
    await silent.store.refresh();
    expect([...silent.store.list('node')].sort()).toEqual([...leader.store.list('node')].sort());
    expect([...silent.store.list('node').keys()].sort()).toEqual(['b', 'c', 'd']);
    expect(silent.store.revision).toBe(leader.store.revision);
    // It can commit on what it has read.
    await silent.store.commit([writeText('b', 'last', silent.store.read('node', 'b'))]);
    await leader.store.refresh();
    expect(leader.store.read('node', 'b')?.oid).toBe('last');
  });
});

describe('a mismatch of replicas', () => {
  it('in settings is reported by name without values', async () => {
    const url = await server.create();
    const settings = { ...SETTINGS, 'limits.servers': '7' };
    const leader = await open(url, 'one', { lease: LEADS, settings });
    const same = await open(url, 'two', { settings });
    const other = await open(url, 'three', { settings: { ...settings, 'source.url': 'https://other.example/' } });
    // Of a version that does not know one of them.
    const older = await open(url, 'four', { settings: SETTINGS });
    for (const { replicas } of [same, other, older, leader]) await replicas.report();
    expect(leader.replicas.trouble?.reason).toBe('"three" differs from the leader in source.url');
    expect(other.replicas.trouble).toBeUndefined();
    const kept = await server.run('SELECT settings FROM treeline.replicas', url);
    expect(JSON.stringify(kept)).not.toContain('example/');
    await other.replicas.close();
    await leader.replicas.report();
    expect(leader.replicas.trouble).toBeUndefined();
  });

  it('in an unreachable address is reported when there is a second replica', async () => {
    const url = await server.create();
    const leader = await open(url, 'one', { lease: LEADS, isAlone: true });
    const standby = await open(url, 'two');
    await leader.replicas.report();
    expect(leader.replicas.trouble).toBeUndefined();
    await standby.replicas.report();
    await leader.replicas.report();
    expect(leader.replicas.trouble?.reason).toBe('other machines cannot reach the leader at one.example:7443');
  });

  it('in names is logged by both processes', async () => {
    const url = await server.create();
    const [one, two] = [await open(url, 'one'), await open(url, 'one')];
    for (const { replicas } of [one, two, one, two]) await replicas.report();
    const msg = 'another process has this name: give each replica its own replica.name';
    expect(one.warnings).toEqual([{ replica: 'one', msg }]);
    expect(two.warnings).toEqual([{ replica: 'one', msg }]);
  });
});

it('a replica registers itself, finds others, and is removed when it ends', async () => {
  const url = await server.create();
  const [{ replicas }, other] = [await open(url, 'one'), await open(url, 'two')];
  await replicas.start();
  const names = async (): Promise<unknown> =>
    (await server.run('SELECT name FROM treeline.replicas', url)).map(({ name }) => name);
  expect(await names()).toEqual(['one']);
  expect([await replicas.isPeer('of one'), await replicas.isPeer('of two')]).toEqual([true, false]);
  const leader = { name: 'two', fencing: 1 };
  expect(await replicas.find(leader)).toBeUndefined();
  await other.replicas.report();
  expect(await replicas.isPeer('of two')).toBe(true);
  expect(await replicas.find(leader)).toEqual({ name: 'two', address: 'two.example:7443', certificate: 'of two' });
  await replicas.close();
  expect(await names()).toEqual(['two']);
});

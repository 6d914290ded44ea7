// Which of several processes leads, on a real server: leases in this process and in others, and what the database accepts of one
// that leads no more. The last tests stop the server.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import type { LowdbStore } from '../../../src/store/lowdb-store.ts';
import { DatabaseConnections } from '../../../src/store/postgres/connection.ts';
import { type CommitLease, Lease, type LeaseOptions, limitCommits } from '../../../src/store/postgres/lease.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-adapter.ts';
import { FENCE, LOCKED_STATE } from '../../../src/store/postgres/statements.ts';
import { NotLeading, StoreError } from '../../../src/store/store-error.ts';
import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';
import { writeText } from '../../support/rows.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** What a process thought of its lease at a moment. */
interface Claim {
  /** Of the machine's monotonic clock, which all processes share, in nanoseconds. */
  readonly at: bigint;
  readonly fencing: number | undefined;
}

/** Starts a process that leads when it can, until it is killed; at the latest with the test. */
function startLeadingProcess(url: string, leaseSeconds: number) {
  const file = join(temporaryDirectory(), 'claims');
  const program = join(import.meta.dirname, '../../support/leading-child.ts');
  const child = spawn(process.execPath, [program, url, file, `${leaseSeconds}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    signal: (name: NodeJS.Signals) => void child.kill(name),
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await ended;
    },
    /** In the order of time. */
    claims(): readonly Claim[] {
      if (!existsSync(file)) return [];
      // The last line may be written at the moment.
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
      return lines.map((line) => {
        const [at = '', fencing] = line.split(' ');
        return { at: BigInt(at), fencing: fencing === 'none' ? undefined : Number(fencing) };
      });
    },
  };
}

/** Returns the fencing numbers with which rows were committed, in the order of the commits. */
async function committedFencings(server: PostgresServer, url: string): Promise<readonly number[]> {
  const rows = await server.run(
    `SELECT split_part(name, '-', 1)::int AS fencing FROM treeline.rows ORDER BY revision`,
    url,
  );
  return rows.map(({ fencing }) => Number(fencing));
}

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

const PATIENCE = { timeout: 25_000 };
const LONG_SECONDS = 60;

/** A lease, and what it has called. */
interface Observed {
  readonly lease: Lease;
  readonly taken: number[];
  readonly lost: string[];
  /** How often the database was read after a loss. */
  readonly over: number[];
}

/** Begins to try for a lease, which is closed when the test is over. */
function start(
  url: string,
  { isRetired = false, ...options }: Partial<LeaseOptions> & { isRetired?: boolean } = {},
): Observed {
  const taken: number[] = [];
  const lost: string[] = [];
  const over: number[] = [];
  const lease = new Lease(
    { url },
    {
      name: 'one',
      leaseSeconds: LONG_SECONDS,
      onTaken: (fencing) => taken.push(fencing),
      onLost: (reason) => void lost.push(reason),
      onOver: () => void over.push(lost.length),
      ...options,
    },
  );
  onTestFinished(() => lease.close());
  if (isRetired) lease.retire();
  lease.start();
  return { lease, taken, lost, over };
}

async function openStore(url: string, lease?: CommitLease): Promise<LowdbStore> {
  const store = await openPostgresStore({ url, limits: { pauseMs: 20 } }, { lease });
  onTestFinished(() => store.close());
  return store;
}

/** A process that thinks that it leads. */
function believing(fencing: number, leaseSeconds = LONG_SECONDS): CommitLease {
  return { fencing, leaseSeconds };
}

/** The machine's clock, with what a test adds to it. */
function jumpingClock(): Clock & { wallMs: number; monotonicMs: number } {
  const clock = {
    ...systemClock,
    wallMs: 0,
    monotonicMs: 0,
    now: () => systemClock.now() + clock.wallMs,
    monotonic: () => systemClock.monotonic() + clock.monotonicMs,
  };
  return clock;
}

/** Begins a commit that does not end before `end` is called. */
async function holdCommit(url: string, leaseSeconds = LONG_SECONDS) {
  const connections = new DatabaseConnections({ url, limits: limitCommits(leaseSeconds) });
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const committed = connections.write(async (run) => {
    await run(LOCKED_STATE);
    begun.resolve();
    await gate.promise;
  });
  onTestFinished(async () => {
    gate.resolve();
    await committed.catch(() => undefined);
    await connections.close();
  });
  await begun.promise;
  return { committed, end: () => gate.resolve() };
}

function isHeld({ fencing }: Lease): boolean {
  return fencing !== undefined;
}

async function hasWaiting(): Promise<boolean> {
  const [row] = await server.run(`SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
  return Number(row?.count) > 0;
}

describe('the lease of several processes', () => {
  it('is not taken by a process that ends', async () => {
    const url = await server.create();
    const { lease, taken } = start(url, { isRetired: true });
    await lease.release();
    expect(taken).toEqual([]);
    expect(await server.run('SELECT fencing FROM treeline.lease', url)).toEqual([{ fencing: '0' }]);
  });

  it('goes to one with one number, and to another when it is returned', async () => {
    const url = await server.create();
    const all = ['a', 'b', 'c'].map((name) => start(url, { name }));
    await expect.poll(() => all.flatMap(({ taken }) => taken), PATIENCE).toEqual([1]);
    const first = all.find(({ lease }) => isHeld(lease));
    const name = first?.lease.leader()?.name;
    await expect.poll(() => all.map(({ lease }) => lease.leader()?.name), PATIENCE).toEqual([name, name, name]);
    expect(all.map(({ lease }) => lease.fencing).filter((fencing) => fencing !== undefined)).toEqual([1]);
    expect(first?.lease.leader()?.since).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(all.map(({ lease }) => lease.leader()?.fencing)).toEqual([1, 1, 1]);
    await first?.lease.release();
    expect(first?.lease.fencing).toBeUndefined();
    // Long before the lease would have ended by itself.
    await expect.poll(() => all.flatMap(({ taken }) => taken).sort(), PATIENCE).toEqual([1, 2]);
    expect(all.flatMap(({ lost }) => lost)).toEqual([]);
  });

  it('is left by a process that cannot lead, which tries again later', async () => {
    const url = await server.create();
    const one = start(url, { leaseSeconds: 6 });
    await expect.poll(() => one.taken, PATIENCE).toEqual([1]);
    await one.lease.resign();
    const two = start(url, { name: 'two' });
    await expect.poll(() => two.taken, PATIENCE).toEqual([2]);
    await two.lease.release();
    await expect.poll(() => one.taken, PATIENCE).toEqual([1, 3]);
    expect([one.lost, one.over]).toEqual([[], []]);
  });

  it('goes to another with a greater number after a kill', async () => {
    const url = await server.create();
    const child = startLeadingProcess(url, 2);
    await expect.poll(() => child.claims().at(-1)?.fencing, PATIENCE).toBeDefined();
    const { lease } = start(url, { leaseSeconds: 2 });
    await child.kill();
    const last = child.claims().findLast(({ fencing }) => fencing !== undefined);
    await expect.poll(() => lease.fencing ?? 0, PATIENCE).toBeGreaterThan(last?.fencing ?? 0);
  });

  it('is lost by a process that was stopped for longer, which then commits nothing', async () => {
    const url = await server.create();
    const child = startLeadingProcess(url, 2);
    await expect.poll(async () => (await committedFencings(server, url)).length, PATIENCE).toBeGreaterThan(3);
    child.signal('SIGSTOP');
    const { lease } = start(url, { leaseSeconds: 2 });
    await expect.poll(() => lease.fencing ?? 0, PATIENCE).toBeGreaterThan(1);
    const { fencing = 0 } = lease;
    const committed = async (): Promise<readonly number[]> =>
      (await committedFencings(server, url)).filter((each) => each < fencing);
    const before = await committed();
    const continued = process.hrtime.bigint();
    child.signal('SIGCONT');
    const claims = () => child.claims().filter(({ at }) => at > continued);
    await expect.poll(() => claims().length, PATIENCE).toBeGreaterThan(3);
    expect(claims().filter((claim) => (claim.fencing ?? Infinity) <= fencing)).toEqual([]);
    expect(await committed()).toEqual(before);
  });
});

describe('a process that does not lead', () => {
  it('commits nothing, which is no failure of the store', async () => {
    const url = await server.create();
    const one = start(url);
    await expect.poll(() => one.taken, PATIENCE).toEqual([1]);
    const two = start(url, { name: 'two' });
    const [leading, standby] = [await openStore(url, one.lease), await openStore(url, two.lease)];
    await leading.commit([writeText('a', 'one')]);
    const refused = standby.commit([writeText('b', 'two')]);
    await expect(refused).rejects.toBeInstanceOf(NotLeading);
    await expect(refused).rejects.toThrow(
      /^This process does not lead, so it may not change the database "t\d+" at .*\. Nothing was saved\.$/,
    );
    expect(standby.failure).toBeUndefined();
    await one.lease.release();
    await expect.poll(() => two.taken, PATIENCE).toEqual([2]);
    await standby.refresh();
    await standby.commit([writeText('b', 'two')]);
    expect([...standby.list('node').keys()]).toEqual(['a', 'b']);
    await expect(leading.commit([writeText('c', 'three')])).rejects.toBeInstanceOf(NotLeading);
    expect(leading.failure).toBeUndefined();
  });

  it('is refused by the database if it believes to lead', async () => {
    const url = await server.create();
    const store = await openStore(url, believing(0));
    await store.commit([writeText('a', 'one')]);
    const { taken } = start(url);
    await expect.poll(() => taken, PATIENCE).toEqual([1]);
    await expect(store.commit([writeText('b', 'two')])).rejects.toThrow(
      /^Another process leads the database .* with the fencing number 1; this one had 0\. Nothing was saved\.$/,
    );
    await store.refresh();
    expect([...store.list('node').keys()]).toEqual(['a']);
  });

  it('is refused if its commit waited while another took the lease', async () => {
    const url = await server.create();
    const store = await openStore(url, believing(0));
    const connections = new DatabaseConnections({ url });
    onTestFinished(() => connections.close());
    const refused = await connections.write(async (run) => {
      await run(FENCE, [1]);
      const commit = store.commit([writeText('a', 'one')]);
      await expect.poll(hasWaiting, PATIENCE).toBe(true);
      return {
        commit: expect(commit).rejects.toThrow('with the fencing number 1; this one had 0. Nothing was saved.'),
      };
    });
    await refused.commit;
  });

  it('is refused if its own lease ended while the commit waited', async () => {
    const url = await server.create();
    const lease = { fencing: 0 as number | undefined, leaseSeconds: LONG_SECONDS };
    const store = await openStore(url, lease);
    const held = await holdCommit(url);
    const refused = expect(store.commit([writeText('a', 'one')])).rejects.toBeInstanceOf(NotLeading);
    await expect.poll(hasWaiting, PATIENCE).toBe(true);
    lease.fencing = undefined;
    held.end();
    await refused;
  });

  it('waits for a running commit before it leads', async () => {
    const url = await server.create();
    const held = await holdCommit(url);
    const { taken } = start(url);
    await expect.poll(hasWaiting, PATIENCE).toBe(true);
    expect(taken).toEqual([]);
    held.end();
    await held.committed;
    await expect.poll(() => taken, PATIENCE).toEqual([1]);
  });

  it('leads although the former leader hangs in a commit', async () => {
    const url = await server.create();
    const held = await holdCommit(url, 1);
    const refused = expect(held.committed).rejects.toBeInstanceOf(StoreError);
    const { taken } = start(url);
    await expect.poll(() => taken, PATIENCE).toEqual([1]);
    held.end();
    await refused;
  });
});

describe('clocks', () => {
  it.each(['wallMs', 'monotonicMs'] as const)('a jump forward (%s) ends the lease', async (which) => {
    const url = await server.create();
    const clock = jumpingClock();
    const { lease, taken, lost, over } = start(url, { leaseSeconds: 2, clock });
    await expect.poll(() => taken, PATIENCE).toEqual([1]);
    const held = isHeld(lease);
    clock[which] += 2_000;
    expect([held, isHeld(lease), lease.fencing]).toEqual([true, false, undefined]);
    await expect.poll(() => lost, PATIENCE).toEqual(['the lease could not be renewed for 2 seconds']);
    await expect.poll(() => over, PATIENCE).toEqual([1]);
    // It is taken by others, or after a restart.
    expect(taken).toEqual([1]);
  });

  it('a jump back of the wall clock changes nothing', async () => {
    const url = await server.create();
    const clock = jumpingClock();
    const { lease, lost, taken } = start(url, { leaseSeconds: 10, clock });
    await expect.poll(() => taken, PATIENCE).toEqual([1]);
    clock.wallMs -= 3_600_000;
    expect(isHeld(lease)).toBe(true);
    clock.monotonicMs += 10_000;
    expect(isHeld(lease)).toBe(false);
    expect(lost).toEqual([]);
  });
});

describe('the lease in a database', () => {
  it('that was set back never repeats a number', async () => {
    const url = await server.create();
    const set = (fencing: number, seconds: number) =>
      server.run(
        `UPDATE treeline.lease SET fencing = ${fencing}, holder = 'former', expires_at = now() + interval '${seconds} seconds'`,
        url,
      );
    await set(20, 60);
    const { lease, taken } = start(url, { leaseSeconds: 1 });
    await expect.poll(() => lease.leader()?.fencing, PATIENCE).toBe(20);
    await set(4, 0);
    await expect.poll(() => taken, PATIENCE).toEqual([21]);
  });

  it('limits pauses and locks of the leader to one lease, and statements to at least 10 s', () => {
    expect(limitCommits(10)).toEqual({ idleMs: 10_000, lockMs: 10_000, statementMs: 10_000 });
    expect(limitCommits(1)).toEqual({ idleMs: 1_000, lockMs: 1_000, statementMs: 10_000 });
    expect(limitCommits(300, { lockMs: 200, pauseMs: 20 })).toEqual({
      idleMs: 20_000,
      lockMs: 200,
      statementMs: 60_000,
      pauseMs: 20,
    });
  });

  it('that restarts soon keeps the lease', async () => {
    const url = await server.create();
    const { lease, taken, lost } = start(url);
    await expect.poll(() => taken, PATIENCE).toEqual([1]);
    await server.stop();
    await server.start();
    expect(isHeld(lease)).toBe(true);
    const store = await openStore(url, lease);
    await store.commit([writeText('a', 'one')]);
    expect([taken, lost]).toEqual([[1], []]);
  });

  it('that is away for one lease ends it', async () => {
    const url = await server.create();
    const { lease, taken, lost, over } = start(url, { leaseSeconds: 1 });
    await expect.poll(() => taken, PATIENCE).toEqual([1]);
    await server.stop();
    await expect.poll(() => lost, PATIENCE).toEqual(['the lease could not be renewed for 1 seconds']);
    expect(isHeld(lease)).toBe(false);
    await server.start();
    await expect.poll(() => over, PATIENCE).toEqual([1]);
    expect(taken).toEqual([1]);
  });
});

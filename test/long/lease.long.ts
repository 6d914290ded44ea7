// Processes that lead one after the other, under kills and stops at random: what the database keeps, and what each thought of itself.
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { Lease } from '../../src/store/postgres/lease.ts';
import { committedFencings, type LeadingProcess, startLeadingProcess } from '../support/leading-process.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

const PATIENCE = { timeout: 60_000 };
const HAMMER_MS = 20_000;
const REPLICAS = 3;

it('fencing numbers never interleave, neither in commits nor in what processes think, under kills and stops', async () => {
  const url = await server.create();
  const all: LeadingProcess[] = [];
  const start = (): LeadingProcess => {
    const started = startLeadingProcess(url, 1);
    all.push(started);
    return started;
  };
  const running = Array.from({ length: REPLICAS }, start);
  const count = async (): Promise<number> => new Set(await committedFencings(server, url)).size;
  await expect.poll(count, PATIENCE).toBeGreaterThan(0);
  const end = performance.now() + HAMMER_MS;
  while (performance.now() < end) {
    const index = Math.floor(Math.random() * REPLICAS);
    const victim = running[index];
    if (Math.random() < 0.4) {
      await victim?.kill();
      running[index] = start();
    } else {
      victim?.signal('SIGSTOP');
      await setTimeout(Math.random() * 4_000);
      victim?.signal('SIGCONT');
    }
    await setTimeout(Math.random() * 1_000);
  }
  const before = await count();
  await expect.poll(count, PATIENCE).toBeGreaterThanOrEqual(before);
  for (const each of running) await each.kill();
  const fencings = await committedFencings(server, url);
  expect(new Set(fencings).size).toBeGreaterThan(2);
  expect(fencings).toEqual(fencings.toSorted((a, b) => a - b));
  const claims = all
    .flatMap((each) => each.claims())
    .filter(({ fencing }) => fencing !== undefined)
    .sort((a, b) => Number(a.at - b.at));
  const numbers = claims.map(({ fencing }) => Number(fencing));
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
});

it('a killed leader with the default lease is followed within 15 seconds', async () => {
  const url = await server.create();
  const child = startLeadingProcess(url, 10);
  await expect.poll(() => child.claims().at(-1)?.fencing, PATIENCE).toBe(1);
  const lease = new Lease(
    { url },
    { name: 'here', leaseSeconds: 10, onTaken: () => undefined, onLost: () => undefined },
  );
  onTestFinished(() => lease.close());
  lease.start();
  await expect.poll(() => lease.leader(), PATIENCE).toBeDefined();
  await child.kill();
  const killed = performance.now();
  await expect.poll(() => lease.fencing, PATIENCE).toBe(2);
  expect(performance.now() - killed).toBeLessThan(15_000);
});

// Wakes between processes that share a database, on a real server. The last test stops it.
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type Topic, Wakes } from '../../../src/store/postgres/wakes.ts';
import { cutCommits, type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

const PATIENCE = { timeout: 20_000 };

/** Opens wakes that are closed when the test is over, and resolves once they listen. */
async function open(url: string): Promise<Wakes> {
  const wakes = new Wakes({ url }, { pauseMs: 20 });
  onTestFinished(() => wakes.close());
  const connected = Promise.withResolvers<void>();
  const end = wakes.listen('lease', () => connected.resolve());
  await connected.promise;
  end();
  return wakes;
}

/** Returns the payloads that come. */
function record(wakes: Wakes, topic: Topic): string[] {
  const payloads: string[] = [];
  wakes.listen(topic, (payload) => payloads.push(payload));
  return payloads;
}

it('wake all that listen for the topic, with a payload, and nobody else', async () => {
  const url = await server.create();
  const [one, two] = [await open(url), await open(url)];
  const other = record(await open(await server.create()), 'commit');
  const [commits, requests, own] = [record(two, 'commit'), record(two, 'request'), record(one, 'commit')];
  const ended: string[] = [];
  const end = two.listen('commit', (payload) => ended.push(payload));
  one.notify('commit');
  one.notify('commit', "17 it's");
  await expect.poll(() => commits, PATIENCE).toEqual(['', "17 it's"]);
  end();
  one.notify('request', 'x'.repeat(7_900));
  one.notify('commit', 'last');
  await expect.poll(() => commits, PATIENCE).toEqual(['', "17 it's", 'last']);
  expect(requests).toEqual(['x'.repeat(7_900)]);
  expect(own).toEqual(commits);
  expect(ended).toEqual(['', "17 it's"]);
  expect(other).toEqual([]);
});

it('go together where they come faster than they are sent, and equal ones are sent once', async () => {
  const url = await server.create();
  const [one, two] = [await open(url), await open(url)];
  const [commits, answers] = [record(two, 'commit'), record(two, 'answer')];
  for (let count = 0; count < 2_000; count++) one.notify('commit');
  for (let count = 0; count < 2_000; count++) one.notify('answer', `${count}`);
  await expect.poll(() => answers.at(-1), PATIENCE).toBe('998');
  expect(commits).toEqual(['']);
  expect(answers).toHaveLength(999);
});

it('come again after a lost connection, and those who listen are woken once, since they may have missed some', async () => {
  const url = await server.create();
  const [one, two] = [await open(url), await open(url)];
  const commits = record(two, 'commit');
  const database = new URL(url).pathname.slice(1);
  await server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
  await expect.poll(() => commits, PATIENCE).toEqual(['']);
  await expect
    .poll(() => {
      one.notify('commit', 'again');
      return commits;
    }, PATIENCE)
    .toContain('again');
});

it('ends soon where the database cannot be reached, and sends nothing meanwhile', async () => {
  const next = { atCommit: 'pass' as const, isAway: true };
  const url = await cutCommits(await server.create(), next);
  const wakes = new Wakes({ url }, { pauseMs: 20 });
  const commits = record(wakes, 'commit');
  wakes.notify('commit', 'lost');
  next.isAway = false;
  await expect.poll(() => commits, PATIENCE).toEqual(['']);
  await wakes.close();
  wakes.notify('commit', 'closed');
  const away = new Wakes({ url: url.replace(/:\d+\//, ':1/') });
  await away.close();
});

it('sends what waits before it closes', async () => {
  const url = await server.create();
  const [one, two] = [await open(url), await open(url)];
  const commits = record(two, 'commit');
  one.notify('commit', 'last');
  await one.close();
  await expect.poll(() => commits, PATIENCE).toEqual(['last']);
});

it('come again after the server was stopped and started', async () => {
  const url = await server.create();
  const wakes = await open(url);
  const commits = record(wakes, 'commit');
  await server.stop();
  wakes.notify('commit', 'lost');
  await server.start();
  await expect.poll(() => commits, PATIENCE).toEqual(['']);
});

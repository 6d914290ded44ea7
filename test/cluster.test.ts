// The parts of `npm run cluster`: the load balancer before replicas that answer as they are told, and the database in a process of its own.
// test/long/cluster.long.ts runs the whole.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { type Health, startBalancer, type Target } from '../scripts/cluster-balancer.ts';
import { freePort } from './support/free-port.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const DATABASE = join(import.meta.dirname, '..', 'scripts', 'cluster-database.ts');
const PATIENCE = { timeout: 10_000, interval: 20 };

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

/** A replica that answers each connection with its name, and health as `health` says. */
async function startReplica(name: string, health: { leaderz: number; readyz: number }): Promise<Target> {
  const apiPort = await listen(createServer((socket) => socket.end(name)));
  const answers = createHttpServer(({ url }, response) => {
    response.writeHead(url === '/leaderz' ? health.leaderz : health.readyz).end();
  });
  return { name, apiPort, managementPort: await listen(answers) };
}

it('the balancer passes connections to the replicas that are ready, in turn, and tells what each answers', async () => {
  const health = { leaderz: 503, readyz: 503 };
  const gone = { name: 'c', apiPort: await freePort(), managementPort: await freePort() };
  const targets = [await startReplica('a', { leaderz: 200, readyz: 200 }), await startReplica('b', health), gone];
  let seen: ReadonlyMap<string, Health> = new Map();
  const balancer = await startBalancer(targets, (healths) => {
    seen = healths;
  });
  onTestFinished(() => balancer.close());
  const answered = async (): Promise<readonly string[]> => {
    const answers = [1, 2, 3, 4].map(() => text(connect(balancer.port, '127.0.0.1')));
    return [...new Set(await Promise.all(answers))].sort();
  };
  const [a, c] = [
    ['a', { leaderz: 200, readyz: 200 }],
    ['c', { leaderz: null, readyz: null }],
  ];
  await expect.poll(() => [...seen], PATIENCE).toEqual([a, ['b', { leaderz: 503, readyz: 503 }], c]);
  expect(await answered()).toEqual(['a']);
  health.readyz = 200;
  await expect.poll(() => [...seen], PATIENCE).toEqual([a, ['b', { leaderz: 503, readyz: 200 }], c]);
  expect(await answered()).toEqual(['a', 'b']);
});

it('the database is there as long as its input is open, and leaves nothing behind', async () => {
  const child = spawn(process.execPath, [DATABASE], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  const [line] = await once(child.stdout, 'data');
  const { url } = JSON.parse(String(line));
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  child.stdin.end();
  expect((await closed)[0]).toBe(0);
  const again = connect(Number(new URL(url).port), '127.0.0.1');
  await expect(once(again, 'connect')).rejects.toThrow('ECONNREFUSED');
});

it('a database that cannot be started says why', async () => {
  const missing = join(temporaryDirectory(), 'missing');
  const child = spawn(process.execPath, [DATABASE], {
    ...{ env: { ...process.env, TMPDIR: missing }, stdio: ['pipe', 'pipe', 'inherit'] },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  const { reason } = JSON.parse(await text(child.stdout));
  expect([(await closed)[0], reason]).toEqual([1, expect.stringContaining(missing)]);
});

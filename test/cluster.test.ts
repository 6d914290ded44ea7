// The parts of `npm run cluster`: the load balancer before replicas with fixed answers, and the database in a process of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { startBalancer, statusOf, type Target } from '../scripts/cluster-balancer.ts';
import { itInFull } from './support/count-runs.ts';
import { freePort } from './support/free-port.ts';
import { listenInTest } from './support/listen-in-test.ts';

const DATABASE = join(import.meta.dirname, '..', 'scripts', 'cluster-database.ts');

/** A replica that answers each connection with its name, and health as `health` says. */
async function startReplica(name: string, health: { leaderz: number; readyz: number }): Promise<Target> {
  const apiPort = await listenInTest(createServer((socket) => socket.end(name)));
  const answers = createHttpServer(({ url }, response) => {
    response.writeHead(url === '/leaderz' ? health.leaderz : health.readyz).end();
  });
  return { name, apiPort, managementPort: await listenInTest(answers) };
}

it('the balancer passes connections to the replicas that are ready, in turn', async () => {
  const health = { leaderz: 503, readyz: 503 };
  const gone = { name: 'c', apiPort: await freePort(), managementPort: await freePort() };
  const targets = [await startReplica('a', { leaderz: 200, readyz: 200 }), await startReplica('b', health), gone];
  const balancer = await startBalancer(targets);
  onTestFinished(() => void balancer.close());
  const { port } = balancer.address() as AddressInfo;
  const answered = async (): Promise<readonly string[]> => {
    const answers = [1, 2, 3, 4].map(() => text(connect(port, '127.0.0.1')));
    return [...new Set(await Promise.all(answers))].sort();
  };
  expect(await answered()).toEqual(['a']);
  health.readyz = 200;
  expect(await answered()).toEqual(['a', 'b']);
  expect(await Promise.all(targets.map((target) => statusOf(target, 'leaderz')))).toEqual([200, 503, null]);
});

itInFull('the database runs while its input is open, and leaves no files', async () => {
  const child = spawn(process.execPath, [DATABASE], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  const [line] = await once(child.stdout, 'data');
  const url = String(line);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  child.stdin.end();
  expect((await closed)[0]).toBe(0);
  const again = connect(Number(new URL(url).port), '127.0.0.1');
  await expect(once(again, 'connect')).rejects.toThrow('ECONNREFUSED');
});

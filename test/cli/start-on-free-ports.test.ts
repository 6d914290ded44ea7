// The demo finds free ports, and binds them seconds later: what happens where another program was faster.
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listenOn } from '../../src/base/listen.ts';
import { startOnFreePorts } from '../../src/cli/demo-command.ts';

/** Returns the port of another program, which runs until the test ends. */
async function takenPort(): Promise<number> {
  const server = createServer();
  onTestFinished(() => void server.close());
  return (await listenOn(server, { host: '127.0.0.1', port: 0 })).port;
}

async function listenThere(port: number): Promise<number> {
  const server = createServer();
  onTestFinished(() => void server.close());
  return (await listenOn(server, { host: '127.0.0.1', port })).port;
}

it('prepares anew, and tries again', async () => {
  const taken = await takenPort();
  const ports = [taken, taken, 0];
  const prepare = async (): Promise<number> => ports.shift() ?? 0;
  expect(await startOnFreePorts({ prepare, start: listenThere })).not.toBe(taken);
  expect(ports).toEqual([]);
});

it('gives up after three times', async () => {
  const taken = await takenPort();
  let count = 0;
  const prepare = async (): Promise<number> => {
    count += 1;
    return taken;
  };
  await expect(startOnFreePorts({ prepare, start: listenThere })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(count).toBe(3);
});

it('does not repeat what failed for another reason', async () => {
  let count = 0;
  const start = async (): Promise<never> => {
    count += 1;
    throw new Error('no disk');
  };
  await expect(startOnFreePorts({ prepare: async () => 0, start })).rejects.toThrow('no disk');
  expect(count).toBe(1);
});

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { Connections } from '../src/base/connections.ts';
import { closeAtOnce, listenOn } from '../src/base/listen.ts';

const MAX = 3;

let server: Server;
let port: number;
let waiting: ServerResponse[];
beforeEach(async () => {
  waiting = [];
  server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/slow') waiting.push(response);
    else if (request.method === 'POST') request.resume().on('end', () => response.end('ok'));
    else response.end('ok');
  });
  new Connections(server, { max: MAX });
  ({ port } = await listenOn(server, { host: '127.0.0.1', port: 0 }));
  onTestFinished(() => closeAtOnce(server));
});

/** Opens a connection that may be ended; resolves when the server has it and what was sent. */
async function open(bytes = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  await once(socket, 'connect');
  if (bytes !== '') socket.write(bytes);
  await pause(30);
  return socket;
}

function get(path = '/'): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
}

const HALF = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf';

async function endedOf(sockets: readonly Socket[]): Promise<boolean[]> {
  await pause(50);
  return sockets.map(({ closed, destroyed, readableEnded }) => closed || destroyed || readableEnded);
}

test('the oldest that never asked makes room, before one that has', async () => {
  const sockets = [await open(get()), await open(), await open()];
  sockets.push(await open(get()));
  expect(await endedOf(sockets)).toEqual([false, true, false, false]);
  sockets.push(await open(get()));
  expect(await endedOf(sockets)).toEqual([false, true, true, false, false]);
});

test('then the one that has been idle longest', async () => {
  const sockets = [await open(get()), await open(get()), await open(get())];
  // The first asks again, so the second has been idle longest.
  sockets[0]?.write(get());
  await pause(30);
  sockets.push(await open(get()));
  expect(await endedOf(sockets)).toEqual([false, true, false, false]);
});

test('then one whose request has not arrived, and never one that waits for an answer', async () => {
  const sockets = [await open(get('/slow')), await open(HALF), await open(get('/slow'))];
  sockets.push(await open(get('/slow')));
  expect(await endedOf(sockets)).toEqual([false, true, false, false]);
  sockets.push(await open(get()));
  expect(await endedOf(sockets)).toEqual([false, true, false, false, true]);
  expect(waiting).toHaveLength(3);
});

test('an end makes room as well', async () => {
  const sockets = [await open(), await open(), await open()];
  sockets[2]?.destroy();
  await pause(50);
  sockets.push(await open(get()));
  expect(await endedOf(sockets)).toEqual([false, false, true, false]);
});

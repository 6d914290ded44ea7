import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createManagement } from '../../src/api/management.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Listening } from '../../src/base/listen.ts';
import { ManualClock } from '../support/manual-clock.ts';

let ready: true | string;
let leads: true | string;
let metrics: () => Promise<string>;
let management: Listening;
beforeEach(async () => {
  ready = true;
  leads = true;
  metrics = async () => '';
  management = await open();
});
afterEach(() => management.close());

function open(options: Partial<Parameters<typeof createManagement>[0]> = {}): Promise<Listening> {
  const told = { ready: () => ready, leads: () => leads, metrics: () => metrics(), clock: systemClock };
  return createManagement({ host: '127.0.0.1', port: 0, ...told, ...options });
}

function ask(path: string, method = 'GET'): Promise<Response> {
  return fetch(`http://127.0.0.1:${management.port}${path}`, { method });
}

test.each(['/livez', '/readyz', '/leaderz', '/livez?verbose=1'])('%s is 200', async (path) => {
  const response = await ask(path);
  expect({ status: response.status, body: await response.json() }).toEqual({
    status: 200,
    body: { message: 'ok', return_code: 200 },
  });
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const head = await ask(path, 'HEAD');
  expect({ status: head.status, text: await head.text() }).toEqual({ status: 200, text: '' });
});

test('/ names the address of the page, and the setting that enables it', async () => {
  const off = (await (await ask('/')).json()) as { readonly message: string };
  expect(off.message).toContain('The page is at /ui/ of the API listener, with a client certificate');
  expect(off.message).toContain('set "management: { dashboard: true }" in the settings');
  await management.close();
  management = await open({ dashboard: () => undefined });
  const on = await ask('/');
  expect({ status: on.status, body: await on.json() }).toEqual({
    status: 200,
    body: {
      message: 'The page is at /ui/. Health and metrics are at /livez, /readyz, /leaderz and /metrics',
      return_code: 200,
    },
  });
});

test('readyz and leaderz name their reason, and livez stays 200', async () => {
  ready = 'the repository was not read yet';
  leads = 'this replica follows; "one" leads';
  for (const [path, message] of Object.entries({ '/readyz': ready, '/leaderz': leads })) {
    const response = await ask(path);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 503,
      body: { message, return_code: 503 },
    });
  }
  expect((await ask('/livez')).status).toBe(200);
  [ready, leads] = [true, true];
  for (const path of ['/readyz', '/leaderz']) expect((await ask(path)).status).toBe(200);
});

test('metrics refuse foreign host names over loopback', async () => {
  metrics = async () => 'treeline_up 1';
  const asked = async (port: number, host: string, headers: string, path = '/metrics') => {
    const socket = connect(port, host);
    socket.end(`GET ${path} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
    return (await text(socket)).split('\r\n', 1)[0]?.split(' ')[1];
  };
  const { port } = management;
  for (const name of ['evil.example.org', '10.0.0.5:9080', 'localhost.evil.example.org', '127.0.0.1@evil'])
    expect([name, await asked(port, '127.0.0.1', `Host: ${name}\r\n`)]).toEqual([name, '403']);
  for (const name of ['localhost', '127.0.0.1:1', '[::1]:9080'])
    expect([name, await asked(port, '127.0.0.1', `Host: ${name}\r\n`)]).toEqual([name, '200']);
  expect(await asked(port, '127.0.0.1', 'Host: evil.example.org\r\n', '/livez')).toBe('200');
  const own = Object.values(networkInterfaces())
    .flatMap((all = []) => all)
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  if (own === undefined) return;
  const everywhere = await open({ host: '0.0.0.0' });
  expect(await asked(everywhere.port, own.address, 'Host: treeline.example.org\r\n')).toBe('200');
  expect(await asked(everywhere.port, '127.0.0.1', 'Host: treeline.example.org\r\n')).toBe('403');
  await everywhere.close();
});

test.each([
  ['POST', '/', 405],
  ['GET', '/livez/x', 404],
  ['POST', '/nothing', 404],
  ['DELETE', '/readyz', 405],
])('%s %s is %i', async (method, path, status) => {
  const response = await ask(path, method);
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status,
    body: { return_code: status },
  });
  expect(response.headers.get('allow')).toBe(status === 405 ? 'GET, HEAD' : null);
});

test('metrics are text, and a failure is 500', async () => {
  metrics = async () => 'treeline_leader 1\n';
  const [got, head] = await Promise.all([ask('/metrics'), ask('/metrics', 'HEAD')]);
  expect({ status: got.status, text: await got.text() }).toEqual({ status: 200, text: 'treeline_leader 1\n' });
  expect(got.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect({ text: await head.text(), length: head.headers.get('content-length') }).toEqual({ text: '', length: '18' });
  let made = 0;
  metrics = async () => {
    made += 1;
    await setTimeout(50);
    return '';
  };
  await Promise.all(Array.from({ length: 20 }, () => ask('/metrics')));
  expect(made).toBeLessThan(10);
  metrics = () => Promise.reject(new Error('a gauge was wrong'));
  const failed = await ask('/metrics');
  expect({ status: failed.status, body: await failed.json() }).toEqual({
    status: 500,
    body: { message: 'The metrics cannot be collected: a gauge was wrong', return_code: 500, error: 'internal' },
  });
});

test('metrics have a time limit', async () => {
  const clock = new ManualClock();
  metrics = () => new Promise(() => undefined);
  await management.close();
  management = await open({ clock });
  const asked = ask('/metrics');
  await expect.poll(() => clock.pending).toBe(1);
  clock.advance(8_000);
  expect((await asked).status).toBe(503);
});

test('a taken address is an error with advice', async () => {
  await expect(open({ port: management.port })).rejects.toThrow(/EADDRINUSE/);
});

test('close ends open connections', async () => {
  const socket = connect(management.port, '127.0.0.1');
  await once(socket, 'connect');
  await ask('/livez');
  const ended = once(socket, 'close');
  await management.close();
  await ended;
});

test('130 half-open requests do not block a probe', async () => {
  const sockets = Array.from({ length: 130 }, () => connect(management.port, '127.0.0.1'));
  for (const socket of sockets) socket.on('error', () => undefined).resume();
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write('POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf');
  expect((await ask('/livez')).status).toBe(200);
  for (const socket of sockets) socket.destroy();
});

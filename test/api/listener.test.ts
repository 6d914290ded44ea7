import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { type Agent, type RequestOptions, request as send } from 'node:https';
import { connect as connectPlain, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startListener, type TimeLimits } from '../../src/api/listener.ts';
import type { TlsMaterial } from '../../src/api/tls/tls-material.ts';
import { type Credential, createAuthority } from '../../src/base/development-pki.ts';
import { createLog } from '../../src/base/log.ts';
import { createCrl } from '../support/create-crl.ts';
import { keepAlive } from '../support/https-client.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
let foreign: Credential;
beforeAll(async () => {
  foreign = await createAuthority({ commonName: 'Another authority', now: Date.now() });
});
beforeEach(async () => {
  api = await startTestApi(undefined, undefined, false);
});
afterEach(() => api.api.close());

/** Resolves once a refused connection has been logged, with its reason. */
function refusal(): Promise<unknown> {
  return vi.waitFor(() => {
    const line = api.lines.find((entry) => entry.includes('connection refused'));
    if (line === undefined) throw new Error('nothing refused yet');
    return JSON.parse(line);
  }, 20_000);
}

/** Returns a listener that ends with the running test, and the lines of its log. */
async function listen(handler: RequestListener, options: Partial<Parameters<typeof startListener>[0]> = {}) {
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => lines.push(line) });
  const listener = await startListener({ host: '127.0.0.1', port: 0, tls: api.tls, log, handler, ...options });
  onTestFinished(() => listener.close());
  return { ...listener, lines };
}

describe('the handshake refuses', () => {
  test('a client without certificate', async () => {
    await expect(api.request('/tree', { identity: null })).rejects.toThrow(/certificate required|ECONNRESET|hang up/);
    expect(await refusal()).toMatchObject({ level: 40, remote: '127.0.0.1', reason: expect.any(String) });
  });

  test('TLS 1.1, but accepts 1.2 and 1.3', async () => {
    const options = { host: '127.0.0.1', ...api.server, ...api.identities.administrator };
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = connect({ ...options, minVersion: version, maxVersion: version });
      await once(socket, 'secureConnect');
      expect(socket.getProtocol()).toBe(version);
      socket.destroy();
    }
    const old = connect({ ...options, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
    await expect(once(old, 'secureConnect')).rejects.toThrow(/alert|protocol/);
  });
});

// Another certificate in the second handshake would hide from a reload the one that the requests are judged by.
test('the listener refuses renegotiation of TLS 1.2', async () => {
  const { key, cert } = api.identities.administrator;
  const file = join(temporaryDirectory(), 'client.pem');
  writeFileSync(file, key + cert);
  const args = ['-connect', `127.0.0.1:${api.server.port}`, '-tls1_2', '-crlf', '-key', file, '-cert', file];
  const client = spawn('openssl', ['s_client', ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => void client.kill());
  let output = '';
  for (const stream of [client.stdout, client.stderr]) stream.on('data', (bytes) => (output += String(bytes)));
  client.stdin.write('GET /types HTTP/1.1\nHost: x\n\n');
  await vi.waitFor(() => expect(output).toMatch(/Protocol *: TLSv1\.2[\s\S]*HTTP\/1\.1 200/), { timeout: 10_000 });
  client.stdin.write('R\n');
  await vi.waitFor(() => expect(output).toMatch(/RENEGOTIATING[\s\S]*no renegotiation/), { timeout: 10_000 });
  expect((await api.request('/types')).status).toBe(200);
});

describe('reload of TLS files', () => {
  /** Connects without saying anything yet; resolves once the server has accepted it. */
  async function begin() {
    const socket = connectPlain(api.server.port, '127.0.0.1');
    await once(socket, 'connect');
    // An answer shows that the server has accepted the connection made before it.
    await api.request('/types');
    return socket;
  }

  /** Does the handshake on a connection, and asks. */
  async function ask(socket: Socket, { key, cert }: Credential): Promise<string> {
    const secure = connect({ socket, ca: api.server.ca, key, cert });
    secure.write('GET /types HTTP/1.1\r\nHost: x\r\n\r\n');
    return await text(secure).catch(() => 'reset');
  }

  test('gives one answer after a handshake that began before', async () => {
    const socket = await begin();
    api.api.reload(api.tls);
    expect(await ask(socket, api.identities.proxy)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n/);
  });

  test.each<[string, () => Promise<Partial<TlsMaterial>>, isAccepted: boolean]>([
    ['counts as before', async () => ({}), true],
    [
      'was revoked',
      async () => ({ crl: createCrl(api.authority, { now: Date.now(), revoked: [api.identities.proxy.serial] }) }),
      false,
    ],
    ['comes from a removed authority', async () => ({ ca: foreign.cert }), false],
  ])('ends a connection after one more answer if its certificate %s', async (_name, change, isAccepted) => {
    const { proxy } = api.identities;
    const agent = keepAlive();
    expect(await api.request('/types', { agent, identity: proxy })).toMatchObject({
      status: 200,
      headers: { connection: 'keep-alive' },
    });
    api.api.reload({ ...api.tls, ...(await change()) });
    const last = await api.request('/types', { agent, identity: proxy });
    expect(last).toMatchObject({ status: 200, headers: { connection: 'close' } });
    const next = api.request('/types', { agent, identity: proxy });
    if (isAccepted) expect((await next).status).toBe(200);
    else await expect(next).rejects.toThrow();
    agent.destroy();
  });

  test('ends streams of events and long polls', async () => {
    const { key, cert } = api.identities.administrator;
    const options = { host: '127.0.0.1', ...api.server };
    const tag = String((await api.request('/hiera/shop-web')).headers.etag);
    const stream = connect({ ...options, key, cert });
    stream.write('GET /events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const received = text(stream);
    const polls = [
      api.request('/hiera/shop-web?wait=60', { headers: { 'If-None-Match': tag } }),
      api.request('/agent/actions?wait=60', { identity: api.identities.proxy }),
    ];
    // An answer shows that the server has read the requests before it.
    await api.request('/types');
    api.api.reload(api.tls);
    const answers = await Promise.all(polls);
    expect(answers.map(({ status, headers }) => [status, headers.connection])).toEqual([
      [304, 'close'],
      [200, 'close'],
    ]);
    expect(await received).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n0\r\n\r\n$/);
  });

  // Node would trust its own public authorities, and revoke nobody.
  test.each<Partial<TlsMaterial>>([{ ca: '' }, { crl: '' }])('keeps the old files instead of %j', async (change) => {
    const agent = keepAlive();
    await api.request('/types', { agent });
    expect(() => api.api.reload({ ...api.tls, ...change })).toThrow();
    expect((await api.request('/types', { agent })).headers.connection).toBe('keep-alive');
    expect((await api.request('/types')).status).toBe(200);
    agent.destroy();
  });
});

describe('an answer under way', () => {
  /** A listener whose handler answers when it is told to. */
  async function startSlow(limits: Partial<TimeLimits> = {}) {
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const listener = await listen(
      async (request, response) => {
        if (request.url === '/early') response.write('[');
        started.resolve();
        await gate.promise;
        response.end(request.url === '/early' ? ']' : '[]');
      },
      { limits },
    );
    return { listener, gate, started };
  }

  function ask(port: number, path: string, agent: Agent) {
    const options: RequestOptions = { host: '127.0.0.1', port, path, ca: api.server.ca, agent };
    const { promise, resolve, reject } = Promise.withResolvers<{ text: string; connection: string | undefined }>();
    send({ ...options, ...api.identities.administrator }, async (incoming) => {
      resolve({ text: await text(incoming), connection: incoming.headers.connection });
    })
      .on('error', reject)
      .end();
    return promise;
  }

  test.each([
    ['close', '/late', 'close'],
    ['close', '/early', 'keep-alive'],
    ['reload', '/late', 'close'],
    // Too late to say so: its connection has one more answer.
    ['reload', '/early', 'keep-alive'],
  ])('is finished after %s, and no request is cut off: %s', async (event, path, connection) => {
    const { listener, gate, started } = await startSlow();
    const agent = keepAlive();
    const answer = ask(listener.port, path, agent);
    await started.promise;
    const closed = event === 'close' ? listener.close() : listener.reload(api.tls);
    if (event === 'close') await expect(ask(listener.port, '/late', keepAlive())).rejects.toThrow(/ECONNREFUSED/);
    gate.resolve();
    expect(await answer).toEqual({ text: '[]', connection });
    if (event === 'reload') expect((await ask(listener.port, '/late', agent)).connection).toBe('close');
    await closed;
    agent.destroy();
  });

  test('delays close only for a limited time', async () => {
    const { listener, started } = await startSlow({ closeMs: 50 });
    const agent = keepAlive();
    const answer = ask(listener.port, '/late', agent);
    const failed = expect(answer).rejects.toThrow(/hang up|ECONNRESET/);
    await started.promise;
    await listener.close();
    await failed;
  });
});

describe('a client that is too slow', () => {
  test('with the handshake is disconnected and logged', async () => {
    const { port, lines } = await listen(() => undefined, { limits: { handshakeMs: 100 } });
    expect(await text(connectPlain(port, '127.0.0.1'))).toBe('');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ reason: 'ERR_TLS_HANDSHAKE_TIMEOUT', remote: '127.0.0.1' });
  });

  test('to send headers or a body is disconnected, even if it sends byte by byte', async () => {
    const handler: RequestListener = (request, response) => request.resume().on('end', () => response.end('{}'));
    const listener = await listen(handler, { limits: { headersMs: 200, requestMs: 400 } });
    const { key, cert } = api.identities.administrator;
    for (const bytes of ['X-Long: ', 'Transfer-Encoding: chunked\r\n\r\nfff\r\n']) {
      const socket = connect({ host: '127.0.0.1', ...api.server, port: listener.port, key, cert });
      const received = text(socket).catch(() => 'reset');
      socket.on('error', () => undefined).write(`POST / HTTP/1.1\r\nHost: x\r\n${bytes}`);
      const dripping = setInterval(() => socket.writable && socket.write('x'), 20);
      expect(await received).toMatch(/^(HTTP\/1\.1 408 [\s\S]*|reset)$/);
      clearInterval(dripping);
    }
  });

  test('to read an answer is disconnected', async () => {
    const ended = Promise.withResolvers<boolean>();
    const handler: RequestListener = (_request, response) => {
      response.once('close', () => ended.resolve(response.writableFinished));
      response.end(Buffer.alloc(64 * 1024 * 1024));
    };
    const listener = await listen(handler, { limits: { stallMs: 200 } });
    const socket = connect({ host: '127.0.0.1', ...api.server, port: listener.port, ...api.identities.administrator });
    socket.on('error', () => socket.destroy());
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await ended.promise).toBe(false);
    socket.destroy();
  });
});

test('repeated refusals of a client are logged once a minute', async () => {
  const { port, lines } = await listen(() => undefined, { clock: new ManualClock(Date.now()) });
  for (let attempt = 0; attempt < 30; attempt++) {
    const socket = connectPlain(port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.end('GET / HTTP/1.1\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
  }
  await vi.waitFor(() => expect(lines).toHaveLength(1), 20_000);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 40, msg: 'connection refused' });
});

test('close ends idle connections immediately', async () => {
  const agent = keepAlive();
  await api.request('/types', { agent });
  await api.api.close();
  agent.destroy();
});

import { createServer, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { clientOf } from '../../src/api/authenticate.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { createAuthority, issueClientCertificate } from '../../src/base/development-pki.ts';
import { keepAlive } from '../support/https-client.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

let now: number;
let api: TestApi;
beforeEach(async () => {
  now = Date.now();
  const clock: Clock = { ...systemClock, now: () => now };
  api = await startTestApi(clock, undefined, false);
});
afterEach(() => api.api.close());

describe('a client that is not registered', () => {
  test('gets an error that says how to register it', async () => {
    const stranger = await issueClientCertificate(api.authority, { commonName: 'stranger', now });
    const { status, body } = await api.request('/tree', { identity: stranger });
    expect(status).toBe(403);
    expect(body).toEqual({
      message:
        `No client is registered with serial ${stranger.serial} and SHA-256 fingerprint ${stranger.fingerprint}: ` +
        'an administrator can register it with POST /clients or "treeline client add", ' +
        `or as clients/${stranger.serial}.yaml in the stacks repository`,
      return_code: 403,
      error: 'client_not_registered',
    });
  });

  test('is refused on its open connection after its removal', async () => {
    const agent = keepAlive();
    const identity = api.identities.proxy;
    expect((await api.request('/tree', { identity, agent })).status).toBe(200);
    const client = api.reader.registry.get(identity.serial);
    api.reader.registry.delete(identity.serial);
    const removed = await api.request('/tree', { identity, agent });
    expect(removed).toMatchObject({ status: 403, body: { error: 'client_not_registered' } });
    api.register(identity, { ...client });
    expect((await api.request('/tree', { identity, agent })).status).toBe(200);
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
    agent.destroy();
  });
});

// Which combinations of authority and fingerprint are let in is in certificate-matrix.test.ts.
test.each<[name: string, registered: (own: string) => string, message: RegExp | undefined]>([
  ['of another certificate', () => Array(32).fill('AB').join(':'), /another fingerprint; that of this certificate is /],
  ['that is invalid', () => 'none', /another fingerprint/],
  ['in another spelling', (own) => own.replaceAll(':', '').toLowerCase(), undefined],
])('a client registered with a fingerprint %s', async (_, registered, message) => {
  const identity = api.identities.proxy;
  api.register(identity, { fingerprint: registered(identity.fingerprint) });
  const { status, body } = await api.request('/tree', { identity });
  expect(status).toBe(message === undefined ? 200 : 403);
  if (message === undefined) return;
  expect(body).toMatchObject({ error: 'fingerprint_mismatch', message: expect.stringMatching(message) });
  expect(body).toMatchObject({ message: expect.stringContaining(identity.fingerprint) });
});

test('a client without a fingerprint is accepted again when only one authority is left', async () => {
  const { identities, tls } = api;
  const identity = identities.proxy;
  api.register(identity, { fingerprint: '' });
  const second = await createAuthority({ commonName: 'Second authority', now });
  api.api.reload({ ...tls, ca: tls.ca + second.cert });
  const message = expect.stringMatching(/is registered without a fingerprint, and more than one authority is trusted/);
  expect(await api.request('/tree', { identity })).toMatchObject({ status: 403, body: { message } });
  api.api.reload(tls);
  expect((await api.request('/tree', { identity })).status).toBe(200);
});

describe('a certificate that expires while it is connected', () => {
  test('is refused, and the connection ends', async () => {
    const agent = keepAlive();
    const identity = await issueClientCertificate(api.authority, { commonName: 'short', now, days: 1 });
    api.register(identity);
    expect((await api.request('/tree', { identity, agent })).status).toBe(200);
    now += DAY_MS - 2_000;
    expect((await api.request('/tree', { identity, agent })).status).toBe(200);
    now += 2_000;
    const { status, headers, body } = await api.request('/tree', { identity, agent });
    expect({ status, connection: headers.connection, body }).toEqual({
      status: 403,
      connection: 'close',
      body: {
        message: `The certificate with serial ${identity.serial} has expired: renew it and connect again`,
        return_code: 403,
        error: 'certificate_expired',
      },
    });
    agent.destroy();
  });
});

describe('before the first good commit', () => {
  test.each([
    ['GET', '/hiera/shop-web'],
    ['GET', '/nothing'],
    ['POST', '/tree'],
  ])('%s %s is not ready', async (method, path) => {
    api.reader.ready = false;
    const { status, headers, body } = await api.request(path, { method });
    expect(status).toBe(503);
    expect(headers['retry-after']).toBe('5');
    expect(body).toEqual({ message: 'No good commit was read yet', return_code: 503, error: 'not_ready' });
    api.reader.ready = true;
    expect((await api.request('/hiera/shop-web')).status).toBe(200);
  });
});

test('a route without authentication has no client', () => {
  expect(() => clientOf(new IncomingMessage(new Socket()))).toThrow('a route was reached without authentication');
});

test('the application refuses requests without TLS', async () => {
  const port = await listenInTest(createServer(api.handler));
  const answer = await fetch(`http://127.0.0.1:${port}/tree`);
  expect({ status: answer.status, body: await answer.json() }).toEqual({
    status: 401,
    body: { message: 'This needs a valid client certificate', return_code: 401, error: 'unauthorized' },
  });
});

// The connection of a proxy to its controller: over real TLS, with a certificate that is renewed while it runs.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { ControllerClient, type ControllerClientOptions } from '../../src/agents/controller-client.ts';
import { type Credential, issueClientCertificate, issueServerCertificate } from '../../src/base/development-pki.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { ACTION } from '../support/sample-agent.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

interface Place {
  readonly client: ControllerClient;
  write(identity: Pick<Credential, 'key' | 'cert'>): void;
}

function clientWith(identity: Pick<Credential, 'key' | 'cert'>, change: Partial<ControllerClientOptions> = {}): Place {
  const folder = temporaryDirectory();
  const tls = { cert: join(folder, 'proxy.crt'), key: join(folder, 'proxy.key'), ca: join(folder, 'ca.crt') };
  const write: Place['write'] = ({ key, cert }) => {
    writeFileSync(tls.key, key);
    writeFileSync(tls.cert, cert);
  };
  writeFileSync(tls.ca, api.tls.ca);
  write(identity);
  const client = new ControllerClient({ server: `https://127.0.0.1:${api.api.port}`, tls, ...change });
  return { client, write };
}

const ACTIONS = { path: '/agent/actions?wait=0' };

it('asks as the proxy, and tells what the controller refuses', async () => {
  const { client } = clientWith(api.identities.proxy);
  expect(await client.send(ACTIONS)).toEqual({ actions: [ACTION] });
  const refused = client.send({ path: '/agent/actions/nothing/claim', body: {} });
  await expect(refused).rejects.toMatchObject({ status: 404, message: expect.stringContaining('nothing') });
  client.close();
});

it('uses a renewed certificate without a restart, once the files fit together', async () => {
  const { client, write } = clientWith(api.identities.proxy);
  await client.send(ACTIONS);
  const next = await issueClientCertificate(api.authority, { commonName: 'renewed', now: Date.now() });
  write({ key: api.identities.proxy.key, cert: next.cert });
  await expect(client.send(ACTIONS)).rejects.toThrow(/key values mismatch/);
  write(next);
  await expect(client.send(ACTIONS)).rejects.toMatchObject({ status: 403 });
  api.register(next, { role: 'proxy', tags: ['lab'] });
  expect(await client.send(ACTIONS)).toEqual({ actions: [ACTION] });
  client.close();
});

it('ends a request with its signal', async () => {
  const { client } = clientWith(api.identities.proxy);
  const ended = AbortSignal.abort();
  await expect(client.send({ ...ACTIONS, signal: ended })).rejects.toThrow();
  client.close();
});

it('ends an answer that never does, and keeps little of what a wrong server says', async () => {
  const { key, cert } = await issueServerCertificate(api.authority, { hosts: ['127.0.0.1'], now: Date.now() });
  const server = createServer({ key, cert }, ({ url }, response) => {
    if (url === '/long') {
      response.writeHead(500).end(JSON.stringify({ message: 'x'.repeat(2_000_000) }));
      return;
    }
    response.writeHead(200);
    const drip = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(drip));
  });
  const { client } = clientWith(api.identities.proxy, {
    server: `https://127.0.0.1:${await listenInTest(server)}`,
    wholeMs: 300,
  });
  const refused: unknown = await client.send({ path: '/long' }).catch((error: unknown) => error);
  expect(String(refused).length).toBeLessThan(1_200);
  await expect(client.send({ path: '/drip' })).rejects.toThrow(/aborted|timeout/);
  client.close();
});

it('counts its limit from the start of a request to a peer that accepts and says nothing', async () => {
  const sockets: Socket[] = [];
  const silent = createTcpServer((socket) => void sockets.push(socket));
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const server = `https://127.0.0.1:${await listenInTest(silent)}`;
  const { client } = clientWith(api.identities.proxy, { server, silenceMs: 1_000 });
  // Timers of one process fire in their order, however busy the machine is.
  const end = await Promise.race([client.send(ACTIONS).catch(String), wait(1_900, 'still waiting')]);
  expect(end).toBe('Error: no answer within 1 s');
  client.close();
});

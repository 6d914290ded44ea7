// The connection of a proxy to its controller: over real TLS, with a certificate that is renewed while it runs.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ControllerClient } from '../../src/agents/controller-client.ts';
import { type Credential, issueClientCertificate } from '../../src/base/development-pki.ts';
import { ACTION } from '../support/sample-parts.ts';
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

function clientWith(identity: Pick<Credential, 'key' | 'cert'>): Place {
  const folder = temporaryDirectory();
  const tls = { cert: join(folder, 'proxy.crt'), key: join(folder, 'proxy.key'), ca: join(folder, 'ca.crt') };
  const write: Place['write'] = ({ key, cert }) => {
    writeFileSync(tls.key, key);
    writeFileSync(tls.cert, cert);
  };
  writeFileSync(tls.ca, api.tls.ca);
  write(identity);
  const client = new ControllerClient({ server: `https://127.0.0.1:${api.api.port}`, tls });
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

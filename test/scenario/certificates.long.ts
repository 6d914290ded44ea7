// Certificates of a running controller: replaced, revoked, wrong, expired. It goes on with its work meanwhile.
import { X509Certificate } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { issueServerCertificate } from '../../src/base/development-pki.ts';
import type { Settings } from '../../src/model/settings.ts';
import { createCrl } from '../support/create-crl.ts';
import { keepAlive } from '../support/https-client.ts';
import { existing, PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { SERVERS, STACKS } from './stacks.ts';

function authorityOf({ folder }: Site) {
  const read = (name: string): string => readFileSync(join(folder, 'pki', name), 'utf8');
  return { key: read('ca.key'), cert: read('ca.crt') };
}

function withCrl(site: Site): (settings: Settings) => Settings {
  const crl = join(site.folder, 'pki', 'ca.crl');
  return (settings) => ({ ...settings, api: { ...settings.api, tls: { ...settings.api.tls, crl } } });
}

/** Returns the fingerprint of the certificate that a server shows now. */
async function shownBy(port: number, { ca, administrator }: Site): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const socket = connect({ host: '127.0.0.1', port, ca, ...administrator }, () => {
    resolve(socket.getPeerX509Certificate()?.fingerprint256);
    socket.destroy();
  });
  socket.on('error', reject);
  return await promise;
}

/** Gives a new file the name of the old one. */
function put(site: Site, name: string, text: string): void {
  const path = join(site.folder, 'pki', name);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

async function readyz({ controller }: RunningController): Promise<number> {
  return (await fetch(`http://127.0.0.1:${controller.management.port}/readyz`)).status;
}

test('a new server certificate is used without a restart, and an invalid one never', async () => {
  const site = await createSite(STACKS);
  const running = await runController(site);
  await running.untilDone(await site.repository.head(), 'shop');
  const { port } = running.controller.api;
  const { key, cert, fingerprint } = await issueServerCertificate(authorityOf(site), { now: Date.now() });
  put(site, 'server.crt', cert);
  const { problems } = await running.logged('the new TLS files cannot be used; the earlier ones stay in force');
  expect(problems).toEqual([expect.stringContaining('server.crt: it does not match the private key')]);
  expect(await shownBy(port, site)).not.toBe(fingerprint);
  expect(await readyz(running)).toBe(200);
  put(site, 'server.key', key);
  await running.logged('TLS files reloaded');
  expect(await shownBy(port, site)).toBe(fingerprint);
  expect((await running.get('/stacks/instances/shop/status')).body).toBe('Done');
});

test('a revoked client gets at most one more answer on its connection, and work continues', async () => {
  const site = await createSite(STACKS);
  const authority = authorityOf(site);
  const { serialNumber } = new X509Certificate(site.administrator.cert);
  put(site, 'ca.crl', createCrl(authority, { now: Date.now(), revoked: [] }));
  const running = await runController(site, withCrl(site));
  const agent = keepAlive();
  await expect.poll(async () => (await running.request('/tree', { agent })).status, PATIENCE).toBe(200);
  put(site, 'ca.crl', createCrl(authority, { now: Date.now(), revoked: [serialNumber] }));
  await running.logged('TLS files reloaded');
  expect((await running.request('/tree', { agent })).headers.connection).toBe('close');
  await expect(running.request('/tree', { agent })).rejects.toThrow();
  await expect(running.request('/tree')).rejects.toThrow();
  expect(await running.logged('connection refused')).toMatchObject({ reason: 'CERT_REVOKED' });
  agent.destroy();
  expect(await readyz(running)).toBe(200);
  await expect.poll(() => Object.keys(existing(site)), PATIENCE).toEqual(SERVERS);
});

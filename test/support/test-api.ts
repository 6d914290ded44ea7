// The REST interface on a free port, with an authority and one registered client a role.

import { createApp, createStandbyApp } from '../../src/api/app.ts';
import type { FollowedLeader } from '../../src/api/forward.ts';
import { type Listener, startListener } from '../../src/api/listener.ts';
import { findAmbiguity, type TlsMaterial } from '../../src/api/tls/tls-material.ts';
import type { AuditLog } from '../../src/base/audit-log.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import {
  type Credential,
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
  type KeyPair,
} from '../../src/base/development-pki.ts';
import { createLog } from '../../src/base/log.ts';
import type { Role } from '../../src/model/names.ts';
import type { Client } from '../../src/model/objects.ts';
import type { ClientsSeen } from '../../src/service/progress/clients-seen.ts';
import { describedClient } from './described-client.ts';
import { createHttpsClient, keepAll } from './https-client.ts';
import { createSampleParts } from './sample-parts.ts';

export type TestApi = Awaited<ReturnType<typeof startTestApi>>;

interface Certificates extends KeyPair {
  readonly authority: Credential;
  readonly identities: Readonly<Record<Role, Credential>>;
}

/** Made once: every interface has the same authority, and its own registry. */
let certificates: Promise<Certificates> | undefined;

async function createCertificates(): Promise<Certificates> {
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'Test authority', now });
  const { key, cert } = await issueServerCertificate(authority, { now });
  const identities = {
    administrator: await issueClientCertificate(authority, { commonName: 'administrator', now }),
    'automation-endpoint': await issueClientCertificate(authority, { commonName: 'automation', now }),
    proxy: await issueClientCertificate(authority, { commonName: 'proxy', now }),
  };
  return { authority, key, cert, identities };
}

/**
 * Returns the interface; requests are an administrator's where they do not say otherwise, on connections that are kept unless
 * `isKept` is false. Close `api` in the end.
 */
export async function startTestApi(clock: Clock = systemClock, audit?: AuditLog, isKept = true) {
  const connections = isKept ? keepAll() : undefined;
  certificates ??= createCertificates();
  const { authority, key, cert, identities } = await certificates;
  /** Every line logged so far. */
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => lines.push(line) });
  const tls = { key, cert, ca: authority.cert };
  const parts = createSampleParts(clock);
  const { reader, streams, controller } = parts;
  let material: TlsMaterial = tls;
  const ambiguityOf = findAmbiguity(() => material);
  const shown = { replica: 'test-1', controller, clock, log, audit };
  const handler = createApp({ ...parts, ...shown, ambiguityOf });
  const listener = await startListener({ ...shown, host: '127.0.0.1', port: 0, tls, handler });
  const api: Listener = {
    ...listener,
    reload(next) {
      listener.reload(next);
      material = next;
      streams.endAll();
    },
    async close() {
      connections?.destroy();
      await listener.close();
    },
  };
  const server = { port: api.port, ca: authority.cert };
  const register = (credential: Credential, fields: Partial<Client> = {}): Client => {
    const client = clientOf(credential, fields);
    reader.registry.set(client.serial, client);
    return client;
  };
  register(identities.administrator, { role: 'administrator' });
  register(identities['automation-endpoint'], { role: 'automation-endpoint' });
  register(identities.proxy, { role: 'proxy', tags: ['lab'] });
  const { request } = describedClient(createHttpsClient(server, identities.administrator, connections));
  return { ...parts, api, handler, server, tls, authority, identities, lines, register, request };
}

export type TestStandby = Awaited<ReturnType<typeof startTestStandby>>;

/**
 * Returns a replica beside a leader, with its certificates; requests are an administrator's where they do not say otherwise. Close `api`
 * in the end.
 */
export async function startTestStandby(
  leader: TestApi,
  followed: FollowedLeader,
  {
    reader = leader.reader,
    tls = leader.tls,
    clock = systemClock,
    audit,
    seen,
  }: Partial<Pick<TestApi, 'reader' | 'tls'>> & {
    readonly clock?: Clock;
    readonly audit?: AuditLog;
    readonly seen?: ClientsSeen;
  } = {},
) {
  const { explainer, operator, sample, controller } = leader;
  const log = createLog('silent');
  const shown = { replica: 'test-2', controller, clock, log, audit };
  const parts = {
    reader,
    explainer,
    operator,
    leader: followed,
    ambiguityOf: findAmbiguity(() => tls),
    seen,
    streams: sample.streams,
  };
  const handler = createStandbyApp({ ...shown, ...parts });
  const api = await startListener({ ...shown, host: '127.0.0.1', port: 0, tls, handler });
  const server = { port: api.port, ca: leader.server.ca };
  return {
    api,
    handler,
    server,
    reader,
    request: describedClient(createHttpsClient(server, leader.identities.administrator)).request,
  };
}

function clientOf({ serial, fingerprint }: Credential, fields: Partial<Client>): Client {
  const client: Client = {
    name: serial,
    type: 'client',
    description: '',
    role: 'proxy',
    fingerprint,
    serial,
    tenant: '',
  };
  return { ...client, ...fields };
}

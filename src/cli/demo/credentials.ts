// Creates the demo's certificates once. They are valid for a year.
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import {
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
  type KeyPair,
} from '../../base/development-pki.ts';
import type { Client } from '../../model/objects.ts';
import { CommandFailure } from '../command-failure.ts';
import {
  AUTHORITY_CREDENTIAL,
  type CredentialFiles,
  filesOf,
  makePrivateFolder,
  SERVER_CREDENTIAL,
} from '../credential-files.ts';

/**
 * The clients that the demo makes certificates for, and the fields of their files: one of each role, and the one that
 * servers use. The tags say whose servers a proxy manages; a proxy with the tag `none` manages none, so that a server
 * outside all locations does not wait for it.
 */
export const DEMO_CLIENTS = {
  administrator: { role: 'administrator' },
  'automation-endpoint': { role: 'automation-endpoint' },
  proxy: { role: 'proxy', tags: ['lab'] },
  // Programs on the demo's servers read the record of the one where they are.
  'local-servers': { role: 'proxy', tags: ['none'], reads: 'all' },
  'lab-proxy': { role: 'proxy', tags: ['lab'] },
  'stage-web-1': { role: 'proxy', tags: ['none'], node: 'stage-web-1' },
} as const satisfies Readonly<Record<string, Pick<Client, 'role' | 'tags' | 'reads' | 'node'>>>;

/** The name of a client of the demo, also of its files. */
export type DemoClient = keyof typeof DEMO_CLIENTS;

/** The names of the demo's clients. */
export const DEMO_CLIENT_NAMES = Object.keys(DEMO_CLIENTS) as readonly DemoClient[];

/** The paths of all keys and certificates of the demo. */
export interface DemoCredentials {
  readonly ca: string;
  readonly server: CredentialFiles;
  readonly clients: Readonly<Record<DemoClient, CredentialFiles>>;
}

/**
 * Returns the files of all credentials below `folder`; missing ones are created. Throws CommandFailure if they have
 * expired.
 */
export async function ensureCredentials(folder: string, now: number): Promise<DemoCredentials> {
  await makePrivateFolder(folder);
  const ca = filesOf(folder, AUTHORITY_CREDENTIAL);
  await ensure(ca, now, () => createAuthority({ now, commonName: 'Treeline development CA' }));
  const authority = await readPair(ca);
  const server = filesOf(folder, SERVER_CREDENTIAL);
  await ensure(server, now, () => issueServerCertificate(authority, { now }));
  const clients: Record<string, CredentialFiles> = {};
  for (const name of DEMO_CLIENT_NAMES) {
    const files = filesOf(folder, name);
    clients[name] = files;
    await ensure(files, now, () => issueClientCertificate(authority, { now, commonName: `demo ${name}` }));
  }
  return { ca: ca.cert, server, clients: clients as Record<DemoClient, CredentialFiles> };
}

/** Creates a credential if its files are missing. */
async function ensure(files: CredentialFiles, now: number, make: () => Promise<KeyPair>): Promise<void> {
  if (existsSync(files.key) && existsSync(files.cert)) {
    if (new X509Certificate(await readFile(files.cert)).validToDate.getTime() > now) return;
    throw new CommandFailure(`${files.cert} has expired: remove the folder of the demo, and start it again`);
  }
  const { key, cert } = await make();
  await writeFile(files.key, key, { mode: 0o600 });
  await writeFile(files.cert, cert);
}

async function readPair({ key, cert }: CredentialFiles): Promise<KeyPair> {
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
}

// Creates the demo's certificates once, keeps them, and renews them before they expire.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import {
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
  type KeyPair,
  needsRenewal,
} from '../../base/development-pki.ts';
import type { Role } from '../../model/names.ts';
import {
  AUTHORITY_CREDENTIAL,
  type CredentialFiles,
  filesOf,
  makePrivateFolder,
  SERVER_CREDENTIAL,
} from '../credential-files.ts';

/** The clients that the demo makes certificates for, and their roles: one of each role, and the one that servers use. */
export const DEMO_CLIENT_ROLES = {
  administrator: 'administrator',
  'automation-endpoint': 'automation-endpoint',
  proxy: 'proxy',
  'local-servers': 'proxy',
  'lab-proxy': 'proxy',
  'stage-web-1': 'proxy',
} as const satisfies Readonly<Record<string, Role>>;

/** The name of a client of the demo, also of its files. */
export type DemoClient = keyof typeof DEMO_CLIENT_ROLES;

/**
 * The tags of the demo's clients, which say whose servers a proxy looks after. The servers' own client looks after none, so
 * that a server outside all locations does not wait for it.
 */
export const DEMO_CLIENT_TAGS: Readonly<Record<DemoClient, readonly string[]>> = {
  administrator: [],
  'automation-endpoint': [],
  proxy: ['lab'],
  'local-servers': ['none'],
  'lab-proxy': ['lab'],
  'stage-web-1': ['none'],
};

/** The demo's clients that read one node, and which. */
export const DEMO_CLIENT_NODES: Partial<Readonly<Record<DemoClient, string>>> = { 'stage-web-1': 'stage-web-1' };

/** The names of the demo's clients. */
export const DEMO_CLIENT_NAMES = Object.keys(DEMO_CLIENT_ROLES) as readonly DemoClient[];

/** The paths of all keys and certificates of the demo. */
export interface DemoCredentials {
  readonly ca: string;
  readonly server: CredentialFiles;
  readonly clients: Readonly<Record<DemoClient, CredentialFiles>>;
}

/** Returns the files of all credentials below `folder`; what is missing or about to expire is made again. */
export async function ensureCredentials(folder: string, now: number): Promise<DemoCredentials> {
  await makePrivateFolder(folder);
  const ca = filesOf(folder, AUTHORITY_CREDENTIAL);
  const isNewAuthority = await ensure(ca, now, () => createAuthority({ now, commonName: 'Treeline development CA' }));
  const authority = await readPair(ca);
  const ensureIssued = async (name: string, issue: () => Promise<KeyPair>): Promise<CredentialFiles> => {
    const files = filesOf(folder, name);
    await ensure(files, isNewAuthority ? Number.POSITIVE_INFINITY : now, issue);
    return files;
  };
  const server = await ensureIssued(SERVER_CREDENTIAL, () => issueServerCertificate(authority, { now }));
  const clients: Record<string, CredentialFiles> = {};
  for (const name of DEMO_CLIENT_NAMES) {
    clients[name] = await ensureIssued(name, () =>
      issueClientCertificate(authority, { now, commonName: `demo ${name}` }),
    );
  }
  return { ca: ca.cert, server, clients: clients as Record<DemoClient, CredentialFiles> };
}

/** Makes a credential unless a good one is there; returns whether it did. */
async function ensure(files: CredentialFiles, now: number, make: () => Promise<KeyPair>): Promise<boolean> {
  if (existsSync(files.key) && existsSync(files.cert) && !needsRenewal(await readFile(files.cert, 'utf8'), now))
    return false;
  const { key, cert } = await make();
  await writeFile(files.key, key, { mode: 0o600 });
  await writeFile(files.cert, cert);
  return true;
}

async function readPair({ key, cert }: CredentialFiles): Promise<KeyPair> {
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
}

// Creates the demo's certificates, which are valid for a year, at the first start.
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { createAuthority, issueClientCertificate, issueServerCertificate } from '../../base/development-pki.ts';
import { CommandFailure } from '../command-failure.ts';
import {
  AUTHORITY_CREDENTIAL,
  type ClientFields,
  type CredentialFiles,
  filesOf,
  makePrivateFolder,
  SERVER_CREDENTIAL,
  writePair,
} from '../credential-files.ts';

/**
 * The clients of the demo, and the fields of their files: one of each role, and one for programs on servers. A proxy
 * manages the servers with its tags. With the tag `none` it manages no servers, so that no server waits for it.
 */
export const DEMO_CLIENTS = {
  administrator: { role: 'administrator' },
  'automation-endpoint': { role: 'automation-endpoint' },
  proxy: { role: 'proxy', tag: ['lab'] },
  // Programs on a server of the demo read the record of that server.
  'local-servers': { role: 'proxy', tag: ['none'], reads: 'all' },
  'lab-proxy': { role: 'proxy', tag: ['lab'] },
  'stage-web-1': { role: 'proxy', tag: ['none'], node: 'stage-web-1' },
} as const satisfies Readonly<Record<string, ClientFields>>;

/** The name of a client of the demo, and of its files. */
export type DemoClient = keyof typeof DEMO_CLIENTS;

/** The names of the demo's clients. */
export const DEMO_CLIENT_NAMES = Object.keys(DEMO_CLIENTS) as readonly DemoClient[];

/** The paths of all keys and certificates of the demo. */
export interface DemoCredentials {
  readonly ca: string;
  readonly server: CredentialFiles;
  readonly clients: Readonly<Record<DemoClient, CredentialFiles>>;
}

/** Resolves with the files of all credentials, created if missing. Throws CommandFailure if they have expired. */
export async function ensureCredentials(folder: string, now: number): Promise<DemoCredentials> {
  const server = filesOf(folder, SERVER_CREDENTIAL);
  if (!existsSync(server.cert)) await makeCredentials(folder, now);
  if (new X509Certificate(await readFile(server.cert)).validToDate.getTime() <= now) {
    throw new CommandFailure(`${server.cert} has expired: remove the folder of the demo, and start it again`);
  }
  const clients = Object.fromEntries(DEMO_CLIENT_NAMES.map((name) => [name, filesOf(folder, name)]));
  return {
    ca: filesOf(folder, AUTHORITY_CREDENTIAL).cert,
    server,
    clients: clients as Record<DemoClient, CredentialFiles>,
  };
}

/** Creates the folder with all of its files, or not at all. */
async function makeCredentials(folder: string, now: number): Promise<void> {
  const unfinished = `${folder}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await makePrivateFolder(unfinished);
  const authority = await createAuthority({ now, commonName: 'Treeline development CA' });
  await writePair(filesOf(unfinished, AUTHORITY_CREDENTIAL), authority);
  await writePair(filesOf(unfinished, SERVER_CREDENTIAL), await issueServerCertificate(authority, { now }));
  for (const name of DEMO_CLIENT_NAMES) {
    const pair = await issueClientCertificate(authority, { now, commonName: `demo ${name}` });
    await writePair(filesOf(unfinished, name), pair);
  }
  await rename(unfinished, folder);
}

// What a controller needs on disk, in a folder of a benchmark: certificates, a stacks repository, treeline.yaml.
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureCredentials } from '../src/cli/demo/credentials.ts';
import { createGitRepository, type FileChanges, type GitRepository } from '../test/support/git-repository.ts';
import type { Identity } from '../test/support/https-client.ts';

export interface Site {
  readonly folder: string;
  /** The path of treeline.yaml. */
  readonly config: string;
  /** The store's directory. */
  readonly state: string;
  /** The file in which the simulated provider keeps what exists. */
  readonly servers: string;
  readonly repository: GitRepository;
  /** PEM. */
  readonly ca: string;
  /** A registered administrator. */
  readonly administrator: Identity;
}

/** All but the provider's times is as a user gets it. */
const SETTINGS = `api: { host: 127.0.0.1, port: 0, tls: { key: pki/server.key, cert: pki/server.crt, clientCa: pki/ca.crt } }
management: { host: 127.0.0.1, port: 0 }
repository: { url: stacks.git, branch: main }
store: { kind: lowdb, directory: state }
execution:
  providers:
    - { name: instant, provider: simulated, options: { createMs: 0, updateMs: 0, deleteMs: 0 } }
`;

/** Returns a site in an empty folder; its repository has one commit: `files`, and the administrator's registration. */
export async function createSite(folder: string, files: FileChanges): Promise<Site> {
  mkdirSync(folder, { recursive: true });
  const { ca, clients } = await ensureCredentials(join(folder, 'pki'), Date.now());
  const { key, cert } = clients.administrator;
  const administrator = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  const config = join(folder, 'treeline.yaml');
  writeFileSync(config, SETTINGS);
  const repository = await createGitRepository(join(folder, 'stacks.git'));
  const { serialNumber } = new X509Certificate(administrator.cert);
  const client = `role: administrator\nserial: "${serialNumber}"\n`;
  await repository.commit({ [`clients/${serialNumber}.yaml`]: client, ...files });
  const state = join(folder, 'state');
  const servers = join(state, 'simulated-instant.json');
  return { folder, config, state, servers, repository, ca: readFileSync(ca, 'utf8'), administrator };
}

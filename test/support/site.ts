// Everything on disk that a controller needs: certificates, a stacks repository, treeline.yaml. The controller itself is
// started by the test: in its own process by compose.ts, or in another one by serving-process.ts.
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureCredentials } from '../../src/cli/demo/credentials.ts';
import { createGitRepository, type FileChanges, type GitRepository } from './git-repository.ts';
import type { Identity } from './https-client.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface Site {
  readonly folder: string;
  /** The path of treeline.yaml. */
  readonly config: string;
  /** The store's directory; the controller makes it. */
  readonly state: string;
  /** The file in which the simulated provider keeps what exists. */
  readonly servers: string;
  readonly repository: GitRepository;
  /** PEM. */
  readonly ca: string;
  /** A registered administrator. */
  readonly administrator: Identity;
}

const SETTINGS = `api: { host: 127.0.0.1, port: 0, tls: { key: pki/server.key, cert: pki/server.crt, clientCa: pki/ca.crt } }
management: { host: 127.0.0.1, port: 0 }
repository: { url: stacks.git, branch: main, pollSeconds: 1 }
store: { kind: lowdb, directory: state }
execution:
  retry: { firstSeconds: 1, maxSeconds: 2, failedSeconds: 2 }
  providers:
    - { name: lab, provider: simulated, options: { createMs: 15, updateMs: 10, deleteMs: 10 } }
`;

/** Returns a site for the running test, whose repository has one commit: `files`, and the administrator's registration. */
export async function createSite(files: FileChanges): Promise<Site> {
  const folder = temporaryDirectory();
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
  mkdirSync(state, { mode: 0o700 });
  const servers = join(state, 'simulated-lab.json');
  return { folder, config, state, servers, repository, ca: readFileSync(ca, 'utf8'), administrator };
}

// Everything on disk that a controller needs: certificates, a stacks repository, treeline.yaml. Nothing in it needs a test
// to be running, so that benchmarks use it too; site.ts is the one of the tests.
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DemoCredentials, ensureCredentials } from '../../src/cli/demo/credentials.ts';
import { createGitRepository, type FileChanges } from './git-repository.ts';
import type { Identity } from './https-client.ts';

export type Site = Awaited<ReturnType<typeof createSiteIn>>;

export interface SiteOptions {
  readonly files: FileChanges;
  /** More keys of `repository:`, in flow style. */
  readonly repository?: string;
  /** The keys of `execution:`, indented by two. */
  readonly execution: string;
  /** The name of its one provider entry. */
  readonly provider: string;
  /** The setting `store`, in flow style; default: the embedded one. */
  readonly store?: string | undefined;
}

/** Returns a site in a folder; its repository has one commit: `files`, and the administrator's registration. */
export async function createSiteIn(folder: string, options: SiteOptions) {
  mkdirSync(folder, { recursive: true });
  const { ca, clients } = await provideCredentials(join(folder, 'pki'));
  const { key, cert } = clients.administrator;
  /** A registered administrator. */
  const administrator: Identity = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  const config = join(folder, 'treeline.yaml');
  writeFileSync(config, settingsOf(options));
  const repository = await createGitRepository(join(folder, 'stacks.git'));
  const { serialNumber } = new X509Certificate(administrator.cert);
  const client = `role: administrator\nserial: "${serialNumber}"\n`;
  await repository.commit({ [`clients/${serialNumber}.yaml`]: client, ...options.files });
  /** The store's directory, still empty. */
  const state = join(folder, 'state');
  mkdirSync(state, { mode: 0o700 });
  /** The file in which the simulated provider keeps what exists. */
  const servers = join(state, `simulated-${options.provider}.sqlite`);
  return { folder, config, state, servers, repository, ca: readFileSync(ca, 'utf8'), administrator };
}

/** The files of the credentials that were made first, by name. Each site has copies of them: to make others takes a while. */
let credentialFiles: readonly (readonly [name: string, content: Buffer])[] = [];

async function provideCredentials(folder: string): Promise<DemoCredentials> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, content] of credentialFiles) writeFileSync(join(folder, name), content, { mode: 0o600 });
  const credentials = await ensureCredentials(folder, Date.now());
  credentialFiles = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]);
  return credentials;
}

function settingsOf({ repository = '', execution, store = '{ kind: lowdb, directory: state }' }: SiteOptions): string {
  return `api: { host: 127.0.0.1, port: 0, requestsPerSecond: 0, tls: { key: pki/server.key, cert: pki/server.crt, clientCa: pki/ca.crt } }
management: { host: 127.0.0.1, port: 0 }
repository: { url: stacks.git, branch: main${repository} }
store: ${store}
execution:
${execution}
`;
}

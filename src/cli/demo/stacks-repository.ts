// Creates the demo's bare stacks repository from the sample and the demo's clients. Afterwards it belongs to the user.

import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { productPath } from '../../base/product-files.ts';
import { Git } from '../../repository/run-git.ts';
import { writeYaml } from '../../yaml-edit/print-yaml.ts';
import { type CredentialFiles, clientDocument } from '../credential-files.ts';
import { writeSchemas } from '../schemas-command.ts';
import { DEMO_CLIENT_NAMES, DEMO_CLIENTS, type DemoClient } from './credentials.ts';

const CLIENTS_FOLDER = 'clients/demo';
const MODELINE = '# yaml-language-server: $schema=../../schemas/client.schema.json';
/**
 * The sample's administrator, which has no certificate. Removed, because otherwise the demo's administrator could
 * remove itself.
 */
const INVENTED_ADMINISTRATOR = 'clients/A110C0DE0000000000000001.yaml';

/** Makes the demo's commits independent of the user's git configuration. */
const IDENTITY = {
  GIT_AUTHOR_NAME: 'Treeline demo',
  GIT_AUTHOR_EMAIL: 'demo@treeline.example',
  GIT_COMMITTER_NAME: 'Treeline demo',
  GIT_COMMITTER_EMAIL: 'demo@treeline.example',
};

/**
 * Creates the repository at `bare` if it is missing, and registers the clients' certificates in it. Throws GitError.
 */
export async function ensureRepository(
  bare: string,
  clients: Readonly<Record<DemoClient, CredentialFiles>>,
): Promise<void> {
  const git = new Git({ environment: IDENTITY });
  if (!existsSync(join(bare, 'HEAD'))) await git.run(['init', '--quiet', '--bare', '--initial-branch=main', bare]);
  const work = await mkdtemp(join(tmpdir(), 'treeline-demo-'));
  try {
    await git.run(['clone', '--quiet', bare, work]);
    // An interrupted first start leaves a repository without a commit.
    const isNew = !existsSync(join(work, 'tree.yaml'));
    if (isNew) await fillWithSample(work);
    await registerClients(work, clients);
    await git.run(['-C', work, 'add', '--all']);
    if ((await git.text(['-C', work, 'status', '--porcelain'])) === '') return;
    const subject = isNew ? 'Start from the sample repository' : 'Register the demo clients';
    await git.run(['-C', work, 'commit', '--quiet', '-m', subject]);
    await git.run(['-C', work, 'push', '--quiet', 'origin', 'HEAD:refs/heads/main']);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function fillWithSample(work: string): Promise<void> {
  await cp(productPath('sample-repo'), work, { recursive: true });
  await rm(join(work, INVENTED_ADMINISTRATOR));
  await writeSchemas(join(work, 'schemas'));
}

/** Writes one file for each client below {@link CLIENTS_FOLDER}. */
async function registerClients(work: string, clients: Readonly<Record<DemoClient, CredentialFiles>>): Promise<void> {
  const folder = join(work, CLIENTS_FOLDER);
  await mkdir(folder, { recursive: true });
  for (const name of DEMO_CLIENT_NAMES) {
    const certificate = new X509Certificate(await readFile(clients[name].cert));
    const client = clientDocument(certificate, DEMO_CLIENTS[name]);
    await writeFile(join(folder, `${client.serial}.yaml`), writeYaml(client, MODELINE));
  }
}

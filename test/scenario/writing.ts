// A controller that is written to, and those who write: what is answered, and what the log of the repository says of it.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Agent } from 'node:https';
import { join } from 'node:path';
import type { JsonMap } from '../../src/model/json.ts';
import type { Role } from '../../src/model/names.ts';
import type { RepositorySettings, Settings } from '../../src/model/settings.ts';
import type { FileChanges } from '../support/git-repository.ts';
import type { Identity, Reply } from '../support/https-client.ts';
import { type RunningController, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { STACKS } from './stacks.ts';

export interface Writing {
  readonly method?: 'POST' | 'DELETE';
  readonly body?: JsonMap;
  readonly as?: Role;
  readonly agent?: Agent;
}

export interface WritingScene {
  readonly site: Site;
  readonly running: RunningController;
  /** The head when it began. */
  readonly base: string;
  write(path: string, writing?: Writing): Promise<Reply>;
}

/** Returns a controller that follows a repository; `repository` is laid over its settings. */
export async function upAndWriting(
  repository: (site: Site) => Partial<RepositorySettings> | Promise<Partial<RepositorySettings>> = () => ({}),
  files: FileChanges = STACKS,
): Promise<WritingScene> {
  const site = await createSite(files);
  const changed = await repository(site);
  const running = await runController(site, (settings: Settings) => ({
    ...settings,
    repository: { ...settings.repository, ...changed },
  }));
  const base = await site.repository.head();
  await running.untilDone(base);
  return { site, running, base, write: (path, writing) => writeTo({ site, running }, path, writing) };
}

/** Returns the key and certificate that the site has for a role. */
export function identityOf({ folder }: Site, role: Role): Identity {
  const read = (ending: string): string => readFileSync(join(folder, 'pki', `${role}.${ending}`), 'utf8');
  return { key: read('key'), cert: read('crt') };
}

/** Returns the body that registers the certificate of a role. */
export function registrationOf(site: Site, role: Role): JsonMap {
  const { serialNumber, fingerprint256 } = new X509Certificate(identityOf(site, role).cert);
  return { serial: serialNumber, role, description: `The ${role}`, fingerprint: fingerprint256 };
}

function writeTo(
  { site, running }: Pick<WritingScene, 'site' | 'running'>,
  path: string,
  { method = 'POST', body, as = 'administrator', agent }: Writing = {},
): Promise<Reply> {
  return running.request(path, {
    method,
    identity: identityOf(site, as),
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    ...(agent === undefined ? {} : { agent }),
  });
}

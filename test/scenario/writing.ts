// A controller that is written to, and those who write: what is answered, and what the log of the repository says of it.
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Agent } from 'node:https';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Role } from '../../src/model/names.ts';
import type { RepositorySettings, Settings } from '../../src/model/settings.ts';
import { type GitHttpServer, type Login, startGitHttpServer } from '../support/git-http-server.ts';
import type { FileChanges } from '../support/git-repository.ts';
import type { Identity, Reply } from '../support/https-client.ts';
import { type RunningController, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { logOf, requestIdOf } from '../support/written-history.ts';
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

export interface WritingOverHttp extends WritingScene {
  readonly server: GitHttpServer;
}

const LOGIN: Login = { username: 'treeline', password: 'swordfish: äöü' };

/** Returns a controller whose repository is behind a real `git http-backend` that asks for a password; `more` changes settings. */
export async function upAndWritingOverHttp(more: Partial<RepositorySettings> = {}): Promise<WritingOverHttp> {
  const { promise, resolve } = Promise.withResolvers<GitHttpServer>();
  const scene = await upAndWriting(async ({ folder, repository }) => {
    const server = await startGitHttpServer({ repository: repository.path, receivePack: true });
    server.login = LOGIN;
    resolve(server);
    const [username, password] = [join(folder, 'username'), join(folder, 'password')];
    writeFileSync(username, LOGIN.username);
    writeFileSync(password, `${LOGIN.password}\n`);
    const place = (path: string) => ({ kind: 'file', path }) as const;
    return { url: server.url, access: { username: place(username), password: place(password), caFile: null }, ...more };
  });
  return { ...scene, server: await promise };
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

/** Returns the subjects of the commits that carry the request id of an answer. */
export async function subjectsOf({ site }: Pick<WritingScene, 'site'>, reply: Reply): Promise<readonly string[]> {
  const entries = await logOf(site.repository);
  return entries.filter(({ requestId }) => requestId === requestIdOf(reply)).map(({ subject }) => subject);
}

/** What is read now is at or beyond the commit of an answer. */
export async function expectSeen({ site, running }: WritingScene, reply: Reply): Promise<void> {
  const seen = String((await running.get('/tree/')).headers['x-treeline-commit']);
  const entries = await logOf(site.repository, seen);
  expect(entries.map(({ requestId }) => requestId)).toContain(requestIdOf(reply));
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

// Tests access over HTTP: credentials and their sources, private authorities, proxies.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createAuthority, issueServerCertificate, type KeyPair } from '../../../src/base/development-pki.ts';
import type { RepositoryAccess } from '../../../src/model/settings.ts';
import { createGitSource, type GitSource } from '../../../src/repository/git-source.ts';
import { checkEncryption, NO_ACCESS, readHttpSecrets } from '../../../src/repository/remotes/http-access.ts';
import type { SourceLimits } from '../../../src/repository/source-limits.ts';
import { followOverHttp, followRepository } from '../../support/followed-repository.ts';
import { authorizationOf, startGitHttpServer } from '../../support/git-http-server.ts';
import { type HttpProxy, startHttpProxy } from '../../support/http-proxy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const LOGIN = { username: 'treeline', password: 'pass:wörd' };
const DAY_MS = 24 * 60 * 60 * 1000;

beforeEach(() => {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
    vi.stubEnv(name, '');
    vi.stubEnv(name.toLowerCase(), undefined);
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function fileOf(text: string): Promise<string> {
  const path = join(temporaryDirectory(), 'secret');
  await writeFile(path, text);
  return path;
}

async function accessBy(username: string, password: string): Promise<RepositoryAccess> {
  return {
    username: { kind: 'file', path: await fileOf(username) },
    password: { kind: 'file', path: await fileOf(password) },
    caFile: null,
  };
}

describe('credentials', () => {
  it.each([
    ['without a newline', 'treeline', 'pass:wörd'],
    ['with a newline', 'treeline\n', 'pass:wörd\n'],
    ['with a newline of Windows', 'treeline\r\n', 'pass:wörd\r\n'],
  ])('are read from files %s', async (_, username, password) => {
    const { authorization } = await readHttpSecrets(await accessBy(username, password));
    expect(authorization).toBe(authorizationOf(LOGIN));
  });

  it('are read from the environment', async () => {
    vi.stubEnv('NAME', 'treeline');
    vi.stubEnv('WORD', 'pass:wörd');
    const access = {
      ...NO_ACCESS,
      username: { kind: 'variable', name: 'NAME' },
      password: { kind: 'variable', name: 'WORD' },
    } as const;
    expect((await readHttpSecrets(access)).authorization).toBe(authorizationOf(LOGIN));
  });

  it('may lack the name, or the password: hosts take a token as either', async () => {
    const { username, password } = await accessBy('token', 'token');
    const header = async (access: Partial<RepositoryAccess>): Promise<string | undefined> =>
      (await readHttpSecrets({ ...NO_ACCESS, ...access })).authorization;
    expect(await header({ password })).toBe(authorizationOf({ username: 'x-access-token', password: 'token' }));
    expect(await header({ username })).toBe(authorizationOf({ username: 'token', password: '' }));
    expect(await header({})).toBeUndefined();
  });

  it.each([
    ['no file', 'x', null, /^repository.passwordFile cannot be read: ENOENT/],
    ['an empty file', 'x', '\n', /secret is empty/],
    ['a very large file', 'x', 'x'.repeat(65_537), /repository.passwordFile cannot be read: it has 65537 bytes/],
    ['a name with a colon', 'a:b', 'x', /the user name in .*secret holds a ":"/],
  ])('that cannot be used: %s', async (_, username, password, message) => {
    const access = await accessBy(username, password ?? '');
    if (password === null && access.password?.kind === 'file') await rm(access.password.path);
    await expect(readHttpSecrets(access)).rejects.toThrow(message);
  });

  it('go over HTTP to this machine only', async () => {
    for (const host of ['localhost', '127.0.0.1:80', '127.9.9.9', '[::1]:8080']) {
      expect(() => checkEncryption(`http://${host}/x`, true)).not.toThrow();
    }
    for (const host of ['git.example', '127.0.0.1.example', '10.0.0.1', '[::2]', 'localhost.example']) {
      expect(() => checkEncryption(`http://${host}/x`, true), host).toThrow(/unencrypted: write https:/);
      expect(() => checkEncryption(`http://${host}/x`, false)).not.toThrow();
      expect(() => checkEncryption(`https://${host}/x`, true)).not.toThrow();
    }
    const options = { url: 'http://git.example/x.git', branch: 'main', directory: '.', cache: '/nowhere' };
    const access = await accessBy('a', 'b');
    await expect(createGitSource({ ...options, access })).rejects.toThrow(/would carry the password unencrypted/);
  });

  it('are sent at once, and read anew for every fetch', async () => {
    const access = await accessBy(LOGIN.username, LOGIN.password);
    const { server, expectFailure, expectSuccess } = await followOverHttp({ access });
    server.login = LOGIN;
    await expectAnonymousFailure();
    server.login = { ...LOGIN, password: 'rotated' };
    const error = await expectFailure(/does not accept the user name and password \(401 Unauthorized\): check /);
    expect(error.message).toContain(`${access.username?.kind === 'file' && access.username.path} and `);
    expect(JSON.stringify([error, error.message, error.stack, error.cause])).not.toMatch(/wörd|d8O2cmQ|treeline:/);
    if (access.password?.kind === 'file') await writeFile(access.password.path, 'rotated\n');
    await expectSuccess();
    expect(server.requests.map(({ authorization }) => authorization)).not.toContain(undefined);

    async function expectAnonymousFailure(): Promise<void> {
      const anonymous = await followOverHttp();
      anonymous.server.login = LOGIN;
      await anonymous.expectFailure(/asks for a user name and a password \(401 Unauthorized\): write them into files/);
    }
  });
});

function open(
  url: string,
  access: RepositoryAccess = NO_ACCESS,
  limits: Partial<SourceLimits> = {},
): Promise<GitSource> {
  return createGitSource({ url, branch: 'main', directory: '.', cache: temporaryDirectory(), access, limits });
}

interface Authority extends KeyPair {
  /** The path of the certificate. */
  readonly file: string;
}

async function authority(): Promise<Authority> {
  const made = await createAuthority({ commonName: 'Test', now: Date.now() - 500 * DAY_MS });
  return { ...made, file: await fileOf(made.cert) };
}

function trusting(caFile: string): RepositoryAccess {
  return { ...NO_ACCESS, caFile };
}

describe('over TLS', () => {
  it('a private authority is trusted where it is named', async () => {
    const ca = await authority();
    const tls = await issueServerCertificate(ca, { now: Date.now() });
    const { expectSuccess } = await followOverHttp({ access: trusting(ca.file) }, { tls, host: 'localhost' });
    await expectSuccess();
  });

  it('another authority, none, a file without one, and a corrected file', async () => {
    const ca = await authority();
    const tls = await issueServerCertificate(ca, { now: Date.now() });
    const caFile = await fileOf(ca.cert);
    const { server, expectFailure, expectSuccess } = await followOverHttp({ access: trusting(caFile) }, { tls });
    await writeFile(caFile, (await authority()).cert);
    await expectFailure(`no authority in ${caFile} signed its certificate`);
    await writeFile(caFile, 'nothing');
    await expectFailure(`${caFile} holds no certificate: repository.caFile has to name a PEM file`);
    await rm(caFile);
    await expectFailure(/repository.caFile cannot be read: ENOENT/);
    await writeFile(caFile, ca.cert);
    await expectSuccess();
    await expect((await open(server.url)).fetch(null)).rejects.toThrow(
      /no authority that is trusted here .* repository.caFile/,
    );
  });

  it.each([
    ['of another host', { hosts: ['other.example'] }, 0, /belongs to another host/],
    ['that has expired', {}, -400 * DAY_MS, /has expired: it has to be renewed there/],
    ['that is not valid yet', {}, 10 * DAY_MS, /is not valid yet: check the clock/],
  ])('a certificate %s is refused', async (_, options, shift, message) => {
    const ca = await authority();
    const tls = await issueServerCertificate(ca, { now: Date.now() + shift, ...options });
    const server = await startGitHttpServer({ repository: '/nowhere.git', tls });
    await expect((await open(server.url, trusting(ca.file))).fetch(null)).rejects.toThrow(message);
    expect(server.requests).toEqual([]);
  });

  it('a server that speaks plain HTTP is told from one that is down', async () => {
    const { url } = await startGitHttpServer({ repository: '/nowhere.git' });
    await expect((await open(url.replace('http:', 'https:'))).fetch(null)).rejects.toThrow(
      /does not speak TLS: check scheme and port/,
    );
  });
});

describe('through a proxy that the environment names', () => {
  const HOST = 'git.example';

  it('a repository is fetched, for its own host is not known here', async () => {
    const ca = await authority();
    const tls = await issueServerCertificate(ca, { now: Date.now(), hosts: [HOST] });
    const access = { ...(await accessBy(LOGIN.username, LOGIN.password)), caFile: ca.file };
    const { promise: started, resolve } = Promise.withResolvers<HttpProxy>();
    const { expectFailure, expectSuccess } = await followRepository(async ({ path }) => {
      const server = await startGitHttpServer({ repository: path, tls, host: HOST });
      server.login = LOGIN;
      const proxy = await startHttpProxy(server.port);
      vi.stubEnv('HTTPS_PROXY', proxy.url.replace('//', '//user:proxy-secret@'));
      resolve(proxy);
      return { url: server.url, access };
    });
    const proxy = await started;
    proxy.answer = 407;
    const refused = await expectFailure(/407 No\): the proxy asks for a password: write it into HTTPS_PROXY/);
    expect(refused.message).not.toContain('proxy-secret');
    proxy.answer = 403;
    await expectFailure(/403 No\): the proxy does not let this through: check HTTPS_PROXY/);
    proxy.answer = undefined;
    await expectSuccess();
    expect(new Set(proxy.requests)).toEqual(new Set([expect.stringMatching(/^CONNECT git\.example:\d+$/)]));
  });

  it('that says nothing, the wait ends, and so does the connection', async () => {
    const proxy = await startHttpProxy(0);
    proxy.answer = 'silence';
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    const impatient = await open(`https://${HOST}/stacks.git`, NO_ACCESS, { silenceMs: 300 });
    await expect(impatient.fetch(null)).rejects.toThrow(/"git.example" sent nothing for 0.3 s/);
    await expect.poll(() => proxy.sockets.size).toBe(0);

    const source = await open(`https://${HOST}/stacks.git`);
    const fetching = expect(source.fetch(null)).rejects.toThrow('the source is closed');
    await expect.poll(() => proxy.requests.length).toBe(2);
    await source.close();
    await fetching;
    await expect.poll(() => proxy.sockets.size).toBe(0);
  });

  it('over plain HTTP, other hosts are asked for and this one is not', async () => {
    const proxy = await startHttpProxy(0);
    vi.stubEnv('HTTP_PROXY', proxy.url);
    proxy.answer = 407;
    await expect((await open('http://git.example/x.git')).fetch(null)).rejects.toThrow(
      /is behind a proxy that asks for a password \(407 /,
    );
    expect(proxy.requests).toEqual(['GET http://git.example/x.git/info/refs?service=git-upload-pack']);
    const { expectSuccess } = await followOverHttp();
    await expectSuccess();
    expect(proxy.requests).toHaveLength(1);
  });
});

it.each([
  ['https://nowhere.invalid/x.git', /the name service does not know the host/],
  ['https://127.0.0.1:1/x.git', /nothing listens there/],
])('%s cannot be reached', async (url, message) => {
  await expect((await open(url)).fetch(null)).rejects.toThrow(message);
});

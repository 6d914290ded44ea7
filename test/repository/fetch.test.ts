// Fetching over every transport, and every fault of a remote: each time the head of the local copy stays, the message says
// why, and the next fetch succeeds. All programs are real.
import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Credential, createAuthority, issueServerCertificate } from '../../src/base/development-pki.ts';
import type { RepositoryAccess } from '../../src/model/settings.ts';
import { NO_ACCESS } from '../../src/repository/access.ts';
import { createGitSource, type GitSource, type GitSourceOptions } from '../../src/repository/git-source.ts';
import { fakeSsh, OBEY } from '../support/fake-ssh.ts';
import { type FollowedRepository, followOverHttp, followRepository } from '../support/followed-repository.ts';
import { authorizationOf, type Exchange, type Misbehaviour, startGitHttpServer } from '../support/git-http-server.ts';
import { createGitRepository, runGit } from '../support/git-repository.ts';
import { type HttpProxy, startHttpProxy } from '../support/http-proxy.ts';
import { HAS_SSH_SERVER, startSshServer } from '../support/ssh-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const LOGIN = { username: 'treeline', password: 'pass:wörd$1"\'' };
const DAY_MS = 24 * 60 * 60 * 1000;

beforeEach(() => {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
    vi.stubEnv(name, undefined);
    vi.stubEnv(name.toLowerCase(), undefined);
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

function isAlive(pid: number): boolean {
  const found = `/proc/${pid}/stat`;
  return existsSync(found) && !/\) Z /.test(readFileSync(found, 'utf8'));
}

async function fileOf(text: string, name = 'secret'): Promise<string> {
  const path = join(temporaryDirectory(), name);
  await writeFile(path, text);
  return path;
}

async function accessBy(username: string, password: string): Promise<RepositoryAccess> {
  return {
    username: { kind: 'file', path: await fileOf(username, 'it\'s a "name" ü') },
    password: { kind: 'file', path: await fileOf(password) },
    caFile: null,
  };
}

function newAuthority(): Promise<Credential> {
  return createAuthority({ commonName: 'Test', now: Date.now() - 500 * DAY_MS });
}

function open(url: string, options: Partial<GitSourceOptions> = {}): Promise<GitSource> {
  return createGitSource({ url, branch: 'main', directory: '.', cache: temporaryDirectory(), ...options });
}

const HOST = 'git.example';

const TRANSPORTS: Readonly<Record<string, () => Promise<FollowedRepository>>> = {
  http: () => followOverHttp(),
  'http with protocol version 0 and multi_ack': async () => {
    const followed = await followOverHttp();
    followed.server.misbehave = ({ request }) => {
      delete request.headers['git-protocol'];
      return false;
    };
    return followed;
  },
};

describe('fetch', () => {
  it.each(Object.entries(TRANSPORTS))('returns new commits from %s', async (_, follow) => {
    const { expectSuccess, source } = await follow();
    await expectSuccess();
    await source.close();
  });

  it.runIf(HAS_SSH_SERVER)(
    'returns new commits from a real sshd, with the key and known hosts of the user',
    async () => {
      const { port, key, strangerKey, knownHosts } = await startSshServer();
      const withKey = (file: string): string =>
        `ssh -i '${file}' -o IdentitiesOnly=yes -o UserKnownHostsFile='${knownHosts}' -o BatchMode=yes`;
      const followed = await followRepository(async ({ path }) => {
        vi.stubEnv('GIT_SSH_COMMAND', withKey(key));
        return { url: `ssh://${userInfo().username}@127.0.0.1:${port}${path}` };
      });
      await followed.expectSuccess();
      const { url } = followed.source.place;
      vi.stubEnv('GIT_SSH_COMMAND', withKey(strangerKey));
      await expect((await open(url)).fetch(null)).rejects.toThrow(/does not accept the key: give the user/);
      vi.stubEnv('GIT_SSH_COMMAND', withKey(key));
      await writeFile(knownHosts, '');
      await expect((await open(url)).fetch(null)).rejects.toThrow(/has a host key that is not known here/);
    },
  );

  it('ignores the configuration and variables of the user', async () => {
    const settings = await fileOf('[url "https://nowhere.invalid/"]\n\tinsteadOf = http://\n\tinsteadOf = /\n');
    vi.stubEnv('GIT_CONFIG_GLOBAL', settings);
    vi.stubEnv('GIT_DIR', temporaryDirectory());
    vi.stubEnv('GIT_CONFIG_COUNT', '1');
    vi.stubEnv('GIT_CONFIG_KEY_0', 'core.bare');
    const { expectSuccess } = await followOverHttp();
    await expectSuccess();
  });
});

type Stage = Exchange['stage'];

/** Misbehaves at one stage only. */
function at(stage: Stage, work: (exchange: Exchange) => unknown): Misbehaviour {
  return async (exchange) => {
    if (exchange.stage !== stage) return false;
    await work(exchange);
    return true;
  };
}

/** Sends git's answer with another body, as one that is complete. */
function altered(change: (body: Buffer) => Buffer) {
  return async ({ answer, response }: Exchange): Promise<void> => {
    const { status, headers, body } = await answer();
    response.writeHead(status, headers).end(change(body));
  };
}

/** Sends the first half of git's answer. Then something happens to the connection. */
function brokenOff(then: (exchange: Exchange) => void) {
  return async (exchange: Exchange): Promise<void> => {
    const { status, headers, body } = await exchange.answer();
    exchange.response.writeHead(status, { ...headers, 'content-length': body.length });
    exchange.response.write(body.subarray(0, body.length / 2), () => then(exchange));
  };
}

function flip(body: Buffer): Buffer {
  const middle = Math.floor(body.length / 2);
  body.writeUInt8(body.readUInt8(middle) ^ 0x55, middle);
  return body;
}

function status(code: number, headers: Record<string, string> = {}, body = 'no') {
  return ({ response }: Exchange) => response.writeHead(code, headers).end(body);
}

const HTML = '<!DOCTYPE html><title>Sign in</title>';

/** The advertisement: what the server answers first. The result: the pack. */
const FAULTS: readonly (readonly [Stage, (exchange: Exchange) => unknown, RegExp])[] = [
  [
    'advertisement',
    ({ request }) => request.socket.resetAndDestroy(),
    /cannot be read: .*(?:reset|Recv failure|Empty reply)/i,
  ],
  [
    'advertisement',
    status(200, { 'content-type': 'text/html' }, HTML),
    /a web page instead of a repository looks the same/,
  ],
  [
    'advertisement',
    status(401, { 'www-authenticate': 'Basic realm="git"' }),
    /asks for a user name and a password: write them into files/,
  ],
  ['advertisement', status(403), /may not be read by this user/],
  ['advertisement', status(404), /is not a Git repository, or is not shown to this user/],
  ['advertisement', () => undefined, /cannot be read: .*(?:too slow|did not end)/i],
  // Truncated, although the server says that it is complete.
  ['result', altered((body) => body.subarray(0, body.length / 2)), /"http/],
  // A corrupted byte.
  ['result', altered(flip), /"http/],
  ['result', brokenOff(() => undefined), /cannot be read: .*(?:too slow|did not end)/i],
];

describe('a fetch that fails', () => {
  it('keeps the head and names the reason for every fault of the server', async () => {
    const { server, expectFailure, expectSuccess, source } = await followOverHttp({
      limits: { silenceMs: 1_000, fetchMs: 20_000 },
    });
    for (const [stage, work, message] of FAULTS) {
      const misbehave = at(stage, work);
      server.misbehave = (exchange) => {
        // With protocol version 0, every POST is a fetch.
        delete exchange.request.headers['git-protocol'];
        return misbehave(exchange);
      };
      await expectFailure(message);
    }
    server.misbehave = undefined;
    await expectSuccess();
    await source.close();
  });

  it('keeps the head if the pack exceeds the limit', async () => {
    const { expectFailure, repository } = await followOverHttp({ limits: { packBytesMax: 1_000 } });
    await repository.commit(Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`g${n}`, `${Math.sin(n)}`])));
    await expectFailure(/sends more than the limit for one fetch/);
  });

  it('kills git with its children after the time limit, and when the source is closed', async () => {
    const ssh = await fakeSsh();
    const limits = { fetchMs: 1_000, silenceMs: 500 };
    const { expectFailure, expectSuccess, source, old } = await followRepository(async ({ path }) => ({
      url: `ssh://git@git.example${path}`,
      limits,
    }));
    const pid = join(temporaryDirectory(), 'pid');
    await ssh.become(`sleep 60 & echo $! > ${pid}.new; mv ${pid}.new ${pid}; wait`);
    await expectFailure(/did not end within 1 s/);
    await expect.poll(() => isAlive(Number(readFileSync(pid, 'utf8')))).toBe(false);
    await writeFile(`${pid}.new`, '');
    await ssh.become(OBEY);
    await expectSuccess();
    await ssh.become(`rm -f ${pid}; sleep 60 & echo $! > ${pid}.new; mv ${pid}.new ${pid}.2; wait`);
    const fetching = expect(source.fetch(old)).rejects.toThrow('the source is closed');
    await expect.poll(() => existsSync(`${pid}.2`)).toBe(true);
    await source.close();
    await fetching;
    await expect.poll(() => isAlive(Number(readFileSync(`${pid}.2`, 'utf8')))).toBe(false);
  });

  it('explains messages of ssh', async () => {
    const ssh = await fakeSsh();
    const { expectFailure } = await followRepository(async ({ path }) => ({ url: `ssh://git@git.example${path}` }));
    for (const [words, message] of [
      ['Host key verification failed.', /has a host key that is not known here/],
      ['REMOTE HOST IDENTIFICATION HAS CHANGED! Host key verification failed.', /has another host key than before/],
      ['git@x: Permission denied (publickey).', /does not accept the key/],
      ['remote: fatal: write error: No space left on device', /cannot be read: remote: .*No space/],
      ['Welcome to the machine', /cannot be read: .*Welcome to the machine/],
    ] as const) {
      await ssh.become(`echo "${words}" >&2; exit 255`);
      await expectFailure(message);
    }
  });

  it('names the branches if the followed one is missing, and follows it when it is back', async () => {
    const { repository, head, expectFailure, expectSuccess } = await followOverHttp();
    await repository.git('branch', 'other');
    await repository.git('update-ref', '-d', 'refs/heads/main');
    await expectFailure(/has no branch "main" \(its branches: other\)/);
    await repository.git('update-ref', 'refs/heads/main', head);
    await expectSuccess();
  });

  it('names a shallow clone as the reason', async () => {
    const folder = temporaryDirectory();
    const repository = await createGitRepository(join(folder, 'whole.git'));
    for (const a of ['1', '2', '3']) await repository.commit({ a });
    const path = join(folder, 'short.git');
    await runGit(['clone', '--quiet', '--bare', '--depth', '1', `file://${repository.path}`, path]);
    const source = await createGitSource({ url: path, branch: 'main', directory: '.', cache: join(folder, 'cache') });
    await expect(source.fetch(null)).rejects.toThrow(
      /it is a shallow clone and lacks older commits: run "git fetch --unshallow"/,
    );
    await runGit(['-C', path, 'fetch', '--quiet', '--unshallow']);
    const old = (await source.fetch(null)).oid;
    expect(old).toBe(await repository.head());
  });
});

describe('a password', () => {
  it('is also sent after 401 without a user name', async () => {
    const access = { ...(await accessBy('', `${LOGIN.password}\n`)), username: null };
    const login = { username: 'x-access-token', password: LOGIN.password };
    const { server, expectSuccess } = await followOverHttp({ access });
    server.login = login;
    await expectSuccess();
    expect(server.requests.map(({ authorization }) => authorization)).toContain(authorizationOf(login));
  });

  it('can come from the environment', async () => {
    vi.stubEnv('GIT_NAME', LOGIN.username);
    vi.stubEnv('GIT_WORD', LOGIN.password);
    const access = {
      username: { kind: 'variable', name: 'GIT_NAME' },
      password: { kind: 'variable', name: 'GIT_WORD' },
      caFile: null,
    } as const;
    const { server, expectSuccess } = await followOverHttp({ access });
    server.login = LOGIN;
    await expectSuccess();
  });

  it('is read again for each fetch, and never appears in an error', async () => {
    const access = await accessBy(LOGIN.username, LOGIN.password);
    const { server, expectFailure, expectSuccess } = await followOverHttp({ access });
    server.login = { ...LOGIN, password: 'rotated' };
    const error = await expectFailure(/does not accept the user name and password: check /);
    expect(error.message).toContain(access.password?.kind === 'file' ? access.password.path : '');
    const echo = `${LOGIN.password} ${encodeURIComponent(LOGIN.password)} ${authorizationOf(LOGIN)}`;
    server.login = undefined;
    server.misbehave = ({ response }) => {
      const line = `ERR I know ${Buffer.from(echo).toString('latin1')}\n`;
      const packet = (line.length + 4).toString(16).padStart(4, '0');
      const type = { 'content-type': 'application/x-git-upload-pack-advertisement' };
      response.writeHead(200, type).end(Buffer.from(`001e# service=git-upload-pack\n0000${packet}${line}`, 'latin1'));
      return true;
    };
    const echoed = await expectFailure(/I know \*\*\*/);
    for (const each of [error, echoed]) {
      const shown = [each.message, each.stack, String(each.cause), JSON.stringify(each), JSON.stringify(each.cause)];
      expect(shown.join(' ')).not.toMatch(/wörd|w%C3%B6rd|d8O2cmQ/i);
    }
    server.misbehave = undefined;
    server.login = { ...LOGIN, password: 'rotated' };
    if (access.password?.kind === 'file') await writeFile(access.password.path, 'rotated\n');
    await expectSuccess();
  });

  it('is not sent to another origin after a redirect', async () => {
    const other = await followOverHttp();
    const { server, expectFailure } = await followOverHttp({ access: await accessBy(LOGIN.username, LOGIN.password) });
    server.login = LOGIN;
    const before = other.server.requests.length;
    server.misbehave = ({ request, response }) => {
      const location = new URL(request.url ?? '', other.server.url).href;
      response.writeHead(301, { location }).end();
      return true;
    };
    await expectFailure(/redirects, and redirects are not followed/);
    expect(other.server.requests).toHaveLength(before);
  });

  it.each([
    ['an empty file', 'x', '\n', /is empty: write the secret into it/],
    ['two lines', 'x', 'a\nb\n', /has more than one line/],
    ['a very large file', 'x', 'x'.repeat(65_537), /repository.passwordFile .* cannot be read: it has 65537 bytes/],
    ['a name with a colon', 'a:b', 'x', /the user name in .* contains a ":"/],
  ])('is refused if its file is %s', async (_, username, password, message) => {
    const { expectFailure } = await followOverHttp({ access: await accessBy(username, password) });
    await expectFailure(message);
  });
});

describe('a certificate', () => {
  it('is refused without its authority, and accepted with it', async () => {
    const authority = await newAuthority();
    const tls = await issueServerCertificate(authority, { now: Date.now() });
    const caFile = await fileOf(authority.cert);
    const { server, expectFailure, expectSuccess } = await followOverHttp(
      { access: { ...NO_ACCESS, caFile } },
      { tls },
    );
    const refused = /has a certificate that cannot be verified: name its authority as repository.caFile/;
    for (const text of [(await newAuthority()).cert, 'nothing']) {
      await writeFile(caFile, text);
      await expectFailure(refused);
    }
    await rm(caFile);
    await expectFailure(/repository.caFile .* cannot be read: it is not there/);
    await writeFile(caFile, authority.cert);
    await expectSuccess();
    await expect((await open(server.url)).fetch(null)).rejects.toThrow(refused);
  });

  it.each([
    ['of another host', { hosts: ['other.example'] }, 0],
    ['that has expired', {}, -400 * DAY_MS],
  ])('%s is refused before a request is sent', async (_, options, shift) => {
    const authority = await newAuthority();
    const tls = await issueServerCertificate(authority, { now: Date.now() + shift, ...options });
    const server = await startGitHttpServer({ repository: '/nowhere.git', tls });
    const access = { ...NO_ACCESS, caFile: await fileOf(authority.cert) };
    await expect((await open(server.url, { access })).fetch(null)).rejects.toThrow(
      /certificate that cannot be verified/,
    );
    expect(server.requests).toEqual([]);
  });
});

describe('a proxy', () => {
  it('is used for https with its password, which appears in no error', async () => {
    const authority = await newAuthority();
    const tls = await issueServerCertificate(authority, { now: Date.now(), hosts: [HOST] });
    const access = { ...(await accessBy(LOGIN.username, LOGIN.password)), caFile: await fileOf(authority.cert) };
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
    const refused = await expectFailure(/cannot be reached through the proxy: check HTTPS_PROXY/);
    expect(`${refused.message} ${refused.cause}`).not.toContain('proxy-secret');
    proxy.answer = undefined;
    await expectSuccess();
    expect(new Set(proxy.requests)).toEqual(new Set([expect.stringMatching(/^CONNECT git\.example:\d+$/)]));
  });

  it('is used for http, except for this machine', async () => {
    const proxy = await startHttpProxy(0);
    vi.stubEnv('HTTP_PROXY', proxy.url);
    proxy.answer = 407;
    await expect((await open('http://git.example/x.git')).fetch(null)).rejects.toThrow(/through the proxy/);
    expect(proxy.requests).toEqual(['GET http://git.example/x.git/info/refs?service=git-upload-pack']);
    const { expectSuccess } = await followOverHttp();
    await expectSuccess();
    expect(proxy.requests).toHaveLength(1);
  });
});

it.each([
  ['https://nowhere.invalid/x.git', /cannot be read: .*Could not resolve host/],
  ['https://127.0.0.1:1/x.git', /cannot be read: .*(?:Failed to connect|Couldn't connect)/],
  ['/nowhere/x.git', /is not a Git repository/],
  ['/', /is not a Git repository/],
])('a proxy is reported as unreachable at %s', async (url, message) => {
  await expect((await open(url)).fetch(null)).rejects.toThrow(message);
});

it('fetch never sends a password unencrypted to another machine', async () => {
  const access = await accessBy('a', 'b');
  for (const host of ['git.example', '127.0.0.1.example', '10.0.0.1', '[::2]', 'localhost.example']) {
    await expect(open(`http://${host}/x`, { access })).rejects.toThrow(
      /would carry the password unencrypted: write https:/,
    );
  }
  for (const host of ['localhost', '127.0.0.1:80', '127.9.9.9', '[::1]:8080'])
    await open(`http://${host}/x`, { access });
});

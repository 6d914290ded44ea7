// A server that repeats what it was sent: neither the password nor the header that carried it is in any message.
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import type { RepositoryAccess } from '../../../src/model/settings.ts';
import { SentSecrets } from '../../../src/repository/remotes/sent-secrets.ts';
import { followOverHttp } from '../../support/followed-repository.ts';
import { authorizationOf, type Misbehaviour, startGitHttpServer } from '../../support/git-http-server.ts';
import { endingOf, publishTo } from '../../support/published-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const LOGIN = { username: 'treeline', password: 'p/ss wörd+1=' };
const ENCODED = encodeURIComponent(LOGIN.password);
const HEADER = authorizationOf(LOGIN);
const BASE64 = HEADER.replace('Basic ', '');
const SPELLINGS = [LOGIN.password, ENCODED, ENCODED.toLowerCase(), BASE64, encodeURIComponent(BASE64)];

afterEach(() => {
  vi.unstubAllEnvs();
});

async function access(): Promise<RepositoryAccess> {
  const files = { username: join(temporaryDirectory(), 'name'), password: join(temporaryDirectory(), 'word') };
  for (const key of ['username', 'password'] as const) await writeFile(files[key], LOGIN[key]);
  return {
    username: { kind: 'file', path: files.username },
    password: { kind: 'file', path: files.password },
    caFile: null,
  };
}

/** Everything that a log or an answer could show of an error. */
function shownOf(error: unknown): string {
  const lines: string[] = [];
  createLog('info', { write: (line) => lines.push(line) }).error({ err: error }, 'failed');
  return `${lines.join('')}\n${inspect(error, { depth: 10 })}`;
}

function expectNoSecret(text: string): void {
  for (const spelling of SPELLINGS) expect(text.toLowerCase()).not.toContain(spelling.toLowerCase());
}

/** What can stand in a header is Latin-1. */
const IN_HEADER = `${ENCODED} ${BASE64}`;

const REPEATING: readonly [string, Misbehaviour][] = [
  [
    'in the place that it redirects to',
    ({ response }) => {
      response.writeHead(302, { location: `https://other.example/${ENCODED}/?a=${encodeURIComponent(BASE64)}` }).end();
      return true;
    },
  ],
  [
    'in a redirect to itself',
    ({ request, response }) => {
      const { host } = request.headers;
      response.writeHead(302, { location: `http://${host}/${BASE64}/${ENCODED}` }).end();
      return true;
    },
  ],
  [
    'in the words of its status',
    ({ response }) => {
      response.writeHead(500, `no ${IN_HEADER}`).end();
      return true;
    },
  ],
  [
    'where it refuses the password',
    ({ response }) => {
      response.writeHead(401, `wrong: ${IN_HEADER}`).end();
      return true;
    },
  ],
  [
    'as the type of its answer',
    ({ response }) => {
      response.writeHead(200, { 'content-type': `text/${IN_HEADER}` }).end('?');
      return true;
    },
  ],
  [
    'as a refusal in the words of Git',
    ({ response }) => {
      const line = `ERR ${SPELLINGS.join(' ')}\n`;
      const length = (Buffer.byteLength(line) + 4).toString(16).padStart(4, '0');
      const type = 'application/x-git-upload-pack-advertisement';
      response.writeHead(200, { 'content-type': type }).end(`001e# service=git-upload-pack\n0000${length}${line}`);
      return true;
    },
  ],
  [
    'as the name of a branch',
    async ({ answer, response }) => {
      const { status, headers, body } = await answer();
      const other = `refs/heads/${BASE64}`;
      const line = (text: string): string => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;
      const changed = body
        .toString('latin1')
        .replace(/[0-9a-f]{4}([0-9a-f]{40}) refs\/heads\/main\n/, (_, oid) => line(`${oid} ${other}\n`));
      response.writeHead(status, headers).end(Buffer.from(changed, 'latin1'));
      return true;
    },
  ],
];

describe('a server that repeats the password', () => {
  it.each(REPEATING)('%s gets it into no message', async (_, misbehave) => {
    const { server, source } = await followOverHttp({ access: await access() });
    server.login = LOGIN;
    server.misbehave = misbehave;
    const error: unknown = await source.fetch(null).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(shownOf(error)).toContain('***');
    expectNoSecret(shownOf(error));
  });

  it('while it sends the pack gets it into no message', async () => {
    const { server, source } = await followOverHttp({ access: await access() });
    server.misbehave = ({ stage, response }) => {
      if (stage !== 'result') return false;
      const words = `\x03${SPELLINGS.join(' ')}`;
      const length = (Buffer.byteLength(words) + 4).toString(16).padStart(4, '0');
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
      response.end(`0008NAK\n${length}${words}0000`);
      return true;
    };
    const error: unknown = await source.fetch(null).catch((reason: unknown) => reason);
    expect(shownOf(error)).toMatch(/gave up: \*\*\* \*\*\*/);
    expectNoSecret(shownOf(error));
  });

  it('in the words of a hook that refuses a push gets it into no message', async () => {
    const published = await publishTo(async ({ path }) => {
      const server = await startGitHttpServer({ repository: path, receivePack: true });
      return { url: server.url, access: await access() };
    });
    const hook = `#!/bin/sh\necho "you are ${BASE64}, ${LOGIN.password}" >&2\nexit 1\n`;
    await writeFile(join(published.repository.path, 'hooks', 'pre-receive'), hook, { mode: 0o755 });
    const prepared = await published.prepare();
    const { is, message } = await endingOf(published.publisher.push(prepared));
    expect({ is, message }).toEqual({ is: 'refused', message: expect.stringContaining('you are ***, ***') });
  });
});

describe('SentSecrets', () => {
  it('hides a password in every spelling, of the last few logins', () => {
    const secrets = new SentSecrets();
    for (let i = 0; i < 20; i += 1) secrets.add({ username: 'u', password: `pass${i}word` });
    expect(secrets.strip('pass19word pass18word u:pass19word')).toBe('*** *** ***');
    expect(secrets.strip('pass0word')).toBe('pass0word');
  });

  it('leaves texts alone where nothing, or next to nothing, was sent', () => {
    const secrets = new SentSecrets();
    secrets.add({ username: '', password: 'e' });
    expect(secrets.strip('everything else')).toBe('everything else');
  });

  it('hides it in an error, its causes and what they carry, and keeps the error', async () => {
    const secrets = new SentSecrets();
    secrets.add(LOGIN);
    const cause = Object.assign(new Error(`cause ${LOGIN.password}`), { data: { response: [`<${BASE64}>`] } });
    Object.assign(cause, { cause });
    const error = new RangeError(`message ${LOGIN.password}`, { cause });
    const thrown: unknown = await secrets
      .guard(async () => {
        throw error;
      })
      .catch((reason: unknown) => reason);
    expect(thrown).toBe(error);
    expect(error.message).toBe('message ***');
    expectNoSecret(shownOf(error));
  });
});

describe('a hook of a local repository', () => {
  it('sees nothing of the environment that git does not need', async () => {
    vi.stubEnv('TREELINE_GIT_PASSWORD', LOGIN.password);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', LOGIN.password);
    vi.stubEnv('NODE_OPTIONS', '--no-warnings');
    const { repository, publisher, prepare } = await publishTo();
    const seen = join(temporaryDirectory(), 'seen');
    const hook = join(repository.path, 'hooks', 'pre-receive');
    await writeFile(hook, `#!/bin/sh\nenv > ${seen}\n`);
    await chmod(hook, 0o755);
    expect(await publisher.push(await prepare())).toEqual({ is: 'pushed' });
    const names = (await readFile(seen, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => line.replace(/=.*/, ''));
    const allowed = /^(PATH|HOME|USER|LOGNAME|TMPDIR|TZ|LC_ALL|PWD|OLDPWD|SHLVL|_|GIT_\w+)$/;
    expect(names.filter((name) => !allowed.test(name))).toEqual([]);
    expect(names).toContain('PATH');
    expect(await readFile(seen, 'utf8')).not.toContain(LOGIN.password);
  });
});

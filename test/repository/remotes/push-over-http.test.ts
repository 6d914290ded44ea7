// Pushing to a real `git http-backend`, with a password, over a network that fails at every stage: a push says that it
// did not happen, or that it did, or that nobody knows, and never the wrong one of these.
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RepositoryAccess } from '../../../src/model/settings.ts';
import type { GitPublisherOptions } from '../../../src/repository/git-publisher.ts';
import type { PreparedCommits } from '../../../src/repository/publisher.ts';
import {
  authorizationOf,
  type Exchange,
  type GitHttpServer,
  type Misbehaviour,
  startGitHttpServer,
} from '../../support/git-http-server.ts';
import {
  endingOf,
  newCommit,
  type PublishedRepository,
  prepareWith,
  publishTo,
} from '../../support/published-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface PublishedOverHttp extends PublishedRepository {
  readonly server: GitHttpServer;
  readonly access: RepositoryAccess;
}

const LOGIN = { username: 'robot', password: 'geheim' };

async function publishOverHttp(
  options: Partial<GitPublisherOptions> = {},
  { receivePack = true, anonymous = false } = {},
): Promise<PublishedOverHttp> {
  const passwordFile = join(temporaryDirectory(), 'password');
  const usernameFile = join(temporaryDirectory(), 'username');
  await writeFile(passwordFile, `${LOGIN.password}\n`);
  await writeFile(usernameFile, LOGIN.username);
  const access: RepositoryAccess = anonymous
    ? { username: null, password: null, caFile: null }
    : { username: { kind: 'file', path: usernameFile }, password: { kind: 'file', path: passwordFile }, caFile: null };
  const { promise, resolve } = Promise.withResolvers<GitHttpServer>();
  const published = await publishTo(async ({ path }) => {
    const server = await startGitHttpServer({ repository: path, receivePack });
    if (!anonymous) server.login = LOGIN;
    resolve(server);
    return { url: server.url, access, ...options };
  });
  return { ...published, server: await promise, access };
}

/** Misbehaves at one stage only. */
function at(stage: Exchange['stage'], work: (exchange: Exchange) => unknown): Misbehaviour {
  return async (exchange) => {
    if (exchange.stage !== stage) return false;
    await work(exchange);
    return true;
  };
}

/** Sends git's answer with another body, as one that is whole. */
function altered(change: (body: Buffer) => Buffer) {
  return async ({ answer, response }: Exchange): Promise<void> => {
    const { status, headers, body } = await answer();
    response.writeHead(status, headers).end(change(body));
  };
}

/** Sends the beginning of git's answer, and then the connection breaks. */
function brokenOff(share: number) {
  return async ({ answer, request, response }: Exchange): Promise<void> => {
    const { status, headers, body } = await answer();
    response.writeHead(status, { ...headers, 'content-length': body.length });
    response.write(body.subarray(0, body.length * share), () => request.socket.destroy());
  };
}

function status(code: number) {
  return ({ request, response }: Exchange): void => {
    request.resume();
    response.writeHead(code).end('no');
  };
}

/** Waits until something of the body has arrived. */
async function someBody({ request }: Exchange): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  request.once('data', () => resolve());
  await promise;
}

/** A first commit is there, so that the next push does not ask. `prepareNext` prepares that. */
async function pushedOnce() {
  const scene = await publishOverHttp();
  const first = await scene.prepare();
  scene.source.offer(first);
  expect(await scene.publisher.push(first)).toEqual({ is: 'pushed' });
  const head = String(first.commits[0]);
  expect(await scene.source.adopt(head)).toBe(true);
  const before = scene.server.requests.length;
  const asked = (): readonly string[] => scene.server.requests.slice(before).map(({ line }) => line);
  const prepareNext = (): Promise<PreparedCommits> =>
    prepareWith(scene.publisher, head, [newCommit({ next: 'text\n' })]);
  return { ...scene, head, asked, prepareNext };
}

const ASKED = 'GET /stacks.git/info/refs?service=git-receive-pack';
const SENT = 'POST /stacks.git/git-receive-pack';

describe('a push after one that the remote took', () => {
  it('takes one request', async () => {
    const { publisher, prepareNext, asked, headOf, expectIntact } = await pushedOnce();
    const prepared = await prepareNext();
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(asked()).toEqual([SENT]);
    expect(await headOf()).toBe(prepared.commits[0]);
    await expectIntact();
  });

  it('has moved where an outsider was faster, and where one set the branch back', async () => {
    const { publisher, prepareNext, repository, base, headOf, asked } = await pushedOnce();
    const prepared = await prepareNext();
    const theirs = await repository.commit({ theirs: '1' });
    expect(await publisher.push(prepared)).toEqual({ is: 'moved' });
    expect(await headOf()).toBe(theirs);
    await repository.git('update-ref', 'refs/heads/main', base);
    expect(await publisher.push(await prepareNext())).toEqual({ is: 'moved' });
    expect(await headOf()).toBe(base);
    // The same commit may be there already.
    expect(asked()).toEqual([SENT, ASKED]);
  });

  it('has moved where a rewritten history has lost its base, although the remote then names another reason', async () => {
    const { publisher, prepareNext, repository, headOf } = await pushedOnce();
    const prepared = await prepareNext();
    const other = await repository.commit({ other: '1' }, { parents: [] });
    await repository.git('reflog', 'expire', '--expire=now', '--all');
    await repository.git('gc', '--quiet', '--prune=now');
    expect(await publisher.push(prepared)).toEqual({ is: 'moved' });
    expect(await headOf()).toBe(other);
  });

  it('is refused by a hook as ever', async () => {
    const { publisher, prepareNext, repository, headOf, head, asked } = await pushedOnce();
    const script = '#!/bin/sh\necho "not on a Friday" >&2\nexit 1\n';
    await mkdir(join(repository.path, 'hooks'), { recursive: true });
    await writeFile(join(repository.path, 'hooks', 'pre-receive'), script, { mode: 0o755 });
    expect(await endingOf(publisher.push(await prepareNext()))).toEqual({
      is: 'refused',
      message: expect.stringMatching(/a hook of the repository has refused it: .*not on a Friday/),
    });
    // The refusal is believed as the branch is still there.
    expect(asked()).toEqual([SENT, ASKED]);
    expect(await headOf()).toBe(head);
  });

  it('whose answer is lost is asked about when it is repeated', async () => {
    const { publisher, prepareNext, server, asked, headOf } = await pushedOnce();
    const prepared = await prepareNext();
    server.misbehave = async (exchange) => {
      await exchange.answer();
      exchange.request.socket.destroy();
      return true;
    };
    expect((await publisher.push(prepared)).is).toBe('unknown');
    server.misbehave = undefined;
    const count = asked().length;
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(asked().slice(count)).toEqual([ASKED]);
    expect(await headOf()).toBe(prepared.commits[0]);
  });
});

describe('a push over HTTP', () => {
  it('takes two requests, each with the password, and is there', async () => {
    const { publisher, prepare, server, headOf, expectIntact } = await publishOverHttp();
    const prepared = await prepare();
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await headOf()).toBe(prepared.commits[0]);
    const authorization = authorizationOf(LOGIN);
    expect(server.requests).toEqual([
      { line: 'GET /stacks.git/info/refs?service=git-receive-pack', authorization },
      { line: 'POST /stacks.git/git-receive-pack', authorization },
    ]);
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(server.requests).toHaveLength(3);
    await expectIntact();
  });

  it('brings many commits at once, to a branch of its own too', async () => {
    const { publisher, base, headOf, repository } = await publishOverHttp();
    const commits = Array.from({ length: 50 }, (_, n) => newCommit({ [`f${n}`]: 'x'.repeat(n * 100) }));
    const prepared = await prepareWith(publisher, base, commits);
    expect(await publisher.push(prepared, 'treeline/x')).toEqual({ is: 'pushed' });
    expect(await headOf('treeline/x')).toBe(prepared.commits.at(-1));
    expect(await headOf()).toBe(base);
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await repository.git('rev-list', '--count', `${base}..main`)).toBe('50');
  });

  it('that others were faster than leaves theirs', async () => {
    const { publisher, prepare, repository, headOf, server } = await publishOverHttp();
    const prepared = await prepare();
    const theirs = await repository.commit({ theirs: '1' });
    expect(await publisher.push(prepared)).toEqual({ is: 'moved' });
    expect(server.requests).toHaveLength(1);
    expect(await headOf()).toBe(theirs);
  });

  it('that others overtake between its two requests leaves theirs', async () => {
    const { publisher, prepare, repository, headOf, server } = await publishOverHttp();
    const prepared = await prepare();
    let theirs = '';
    server.misbehave = at('result', async ({ answer, response }) => {
      theirs = await repository.commit({ theirs: '1' });
      const { status, headers, body } = await answer();
      response.writeHead(status, headers).end(body);
    });
    expect(await publisher.push(prepared)).toEqual({ is: 'moved' });
    expect(await headOf()).toBe(theirs);
    expect(await publisher.push(prepared, 'treeline/x')).toEqual({ is: 'pushed' });
  });

  it('sends nothing where the password cannot be read', async () => {
    const access: RepositoryAccess = {
      username: null,
      password: { kind: 'file', path: join(temporaryDirectory(), 'gone') },
      caFile: null,
    };
    const { publisher, prepare, server } = await publishOverHttp({ access });
    const ending = await endingOf(publisher.push(await prepare()));
    expect(ending).toMatchObject({ is: 'not sent', message: expect.stringMatching(/passwordFile cannot be read/) });
    expect(server.requests).toEqual([]);
  });
});

describe('a server that does not want it', () => {
  it('for nobody: receive-pack is off', async () => {
    const { publisher, prepare, headOf, base } = await publishOverHttp({}, { receivePack: false });
    const { is, message } = await endingOf(publisher.push(await prepare()));
    expect(is).toBe('refused');
    expect(message).toMatch(
      /may not be pushed to by this user \(403 Forbidden\): allow it there, or check \/.*username/,
    );
    expect(await headOf()).toBe(base);
  });

  it('for a wrong password, until it is right', async () => {
    const { publisher, prepare, server } = await publishOverHttp();
    server.login = { ...LOGIN, password: 'other' };
    const prepared = await prepare();
    const { is, message } = await endingOf(publisher.push(prepared));
    expect({ is, message }).toMatchObject({
      is: 'refused',
      message: expect.stringMatching(/does not accept .* \(401/),
    });
    expect(message).not.toContain(LOGIN.password);
    server.login = LOGIN;
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
  });

  it('without a password', async () => {
    const { publisher, prepare, server } = await publishOverHttp({}, { anonymous: true });
    const prepared = await prepare();
    server.login = LOGIN;
    expect(await endingOf(publisher.push(prepared))).toMatchObject({
      is: 'refused',
      message: expect.stringMatching(/asks for a user name and a password \(401/),
    });
    server.login = undefined;
    server.misbehave = at('advertisement', status(403));
    expect(await endingOf(publisher.push(prepared))).toMatchObject({
      is: 'refused',
      message: expect.stringMatching(/may not be pushed to without a password \(403/),
    });
  });

  it('because a hook refuses it, in its words', async () => {
    const { publisher, prepare, repository } = await publishOverHttp();
    const script = '#!/bin/sh\necho "GH006: Protected branch update failed for $3" >&2\nexit 1\n';
    await writeFile(join(repository.path, 'hooks', 'pre-receive'), script, { mode: 0o755 });
    const { is, message } = await endingOf(publisher.push(await prepare()));
    expect(is).toBe('refused');
    expect(message).toMatch(/\(pre-receive hook declined\): the branch is protected: .*: GH006: Protected branch/);
  });
});

type Stage = readonly [name: string, misbehaviour: Misbehaviour, is: string, message: RegExp];

const BROKE_OFF = /cannot be reached \(.*\): the connection broke off/;
const TYPE = { 'content-type': 'application/x-git-receive-pack-result' };

/** Failures, and the knowledge that each leaves. */
const BEFORE: readonly Stage[] = [
  ['a reset', at('advertisement', ({ request }) => request.socket.resetAndDestroy()), 'not sent', BROKE_OFF],
  ['half a list', at('advertisement', brokenOff(0.5)), 'not sent', BROKE_OFF],
  [
    'a cut list',
    at(
      'advertisement',
      altered((body) => body.subarray(0, -8)),
    ),
    'not sent',
    /cut off/,
  ],
  [
    'a damaged list',
    at(
      'advertisement',
      altered((body) => Buffer.concat([Buffer.from('0009zzz'), body])),
    ),
    'not sent',
    /could not be read: Expected/,
  ],
  [
    'garbage',
    at(
      'advertisement',
      altered(() => Buffer.from('\0\x01garbage')),
    ),
    'not sent',
    /not Git/,
  ],
  [
    'an error of Git’s own',
    at(
      'advertisement',
      altered(() => Buffer.from('000eERR broken0000')),
    ),
    'not sent',
    /refuses: broken/,
  ],
  [
    'nothing',
    at(
      'advertisement',
      altered(() => Buffer.alloc(0)),
    ),
    'not sent',
    /sends nothing/,
  ],
  ['500', at('advertisement', status(500)), 'not sent', /fails \(500/],
  ['503', at('advertisement', status(503)), 'not sent', /fails \(503/],
  ['404', at('advertisement', status(404)), 'not sent', /is not there/],
  ['401', at('advertisement', status(401)), 'refused', /does not accept/],
  ['403', at('advertisement', status(403)), 'refused', /may not be pushed to/],
  ['a page', at('advertisement', ({ response }) => response.end('<html>')), 'not sent', /web page/],
];

const DURING: readonly Stage[] = [
  [
    'a reset before anything is read',
    at('result', ({ request }) => request.socket.resetAndDestroy()),
    'unknown',
    BROKE_OFF,
  ],
  [
    'a hang-up in the middle of the body',
    at('result', async (exchange) => {
      await someBody(exchange);
      exchange.request.socket.destroy();
    }),
    'unknown',
    BROKE_OFF,
  ],
  ['500', at('result', status(500)), 'unknown', /fails \(500/],
  ['502', at('result', status(502)), 'unknown', /fails \(502/],
  [
    'a redirect',
    at('result', ({ response }) => response.writeHead(307, { location: '/x' }).end()),
    'unknown',
    /redirects/,
  ],
  ['a page', at('result', ({ response }) => response.end('<html>')), 'unknown', /web page/],
  ['nothing', at('result', ({ response }) => response.writeHead(200, TYPE).end()), 'unknown', /sends nothing/],
  ['garbage', at('result', ({ response }) => response.writeHead(200, TYPE).end('\0\0')), 'unknown', /not Git/],
  ['another garbage', at('result', ({ response }) => response.writeHead(200, TYPE).end('0005x')), 'unknown', /bands/],
  ['an empty report', at('result', ({ response }) => response.writeHead(200, TYPE).end('0000')), 'unknown', /report/],
  ['no HTTP', at('result', ({ request }) => request.socket.end('SSH-2.0\r\n')), 'unknown', /does not speak HTTP/],
  ['401', at('result', status(401)), 'refused', /does not accept/],
  ['403', at('result', status(403)), 'refused', /may not be pushed to/],
  ['413', at('result', status(413)), 'refused', /takes no push of this size/],
];

const AFTER: readonly Stage[] = [
  [
    'no answer at all',
    at('result', async ({ answer, request }) => {
      await answer();
      request.socket.destroy();
    }),
    'unknown',
    BROKE_OFF,
  ],
  ['half an answer', at('result', brokenOff(0.5)), 'unknown', BROKE_OFF],
  [
    'an answer that is cut off',
    at(
      'result',
      altered((body) => body.subarray(0, -5)),
    ),
    'unknown',
    /cut off/,
  ],
  [
    'an answer without its last packet',
    at(
      'result',
      altered((body) => body.subarray(0, -4)),
    ),
    'pushed',
    /^$/,
  ],
  [
    'an answer with other bytes',
    at(
      'result',
      altered((body) => Buffer.from(body.toString('latin1').replace('unpack ok', 'unpack\0ok'), 'latin1')),
    ),
    'unknown',
    /there is no report/,
  ],
  [
    'an answer for another branch',
    at(
      'result',
      altered((body) => Buffer.from(body.toString('latin1').replace('heads/main', 'heads/mine'), 'latin1')),
    ),
    'unknown',
    /does not name the branch main/,
  ],
  [
    '504 of a proxy',
    at('result', async ({ answer, response }) => {
      await answer();
      response.writeHead(504).end();
    }),
    'unknown',
    /fails \(504/,
  ],
];

describe.each([
  ['before anything is sent', BEFORE, false],
  ['while it is sent', DURING, false],
  ['when it is there', AFTER, true],
] as const)('what goes wrong %s', (_, stages, isThere) => {
  it.each(stages)('%s', async (_, misbehaviour, is, message) => {
    const { publisher, prepare, server, headOf, base, repository, expectIntact } = await publishOverHttp();
    const prepared = await prepare();
    const commit = prepared.commits[0];
    server.misbehave = misbehaviour;
    expect(await endingOf(publisher.push(prepared))).toEqual({ is, message: expect.stringMatching(message) });
    expect(await headOf()).toBe(isThere ? commit : base);
    // Pushed again when all is well, it is there once.
    server.misbehave = undefined;
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await repository.git('rev-list', `${base}..main`)).toBe(commit);
    await expectIntact();
  });

  it.each(stages.slice(0, 1))('on a branch of its own: %s', async (_, misbehaviour) => {
    const { publisher, prepare, server, headOf } = await publishOverHttp();
    const prepared = await prepare();
    server.misbehave = misbehaviour;
    const { is } = await endingOf(publisher.push(prepared, 'treeline/x'));
    expect(['not sent', 'unknown']).toContain(is);
    expect(await headOf('treeline/x')).toBe(isThere ? prepared.commits[0] : '');
    server.misbehave = undefined;
    expect(await publisher.push(prepared, 'treeline/x')).toEqual({ is: 'pushed' });
  });
});

describe('a server that is slow', () => {
  it.each([
    ['advertisement', 'not sent'],
    ['result', 'unknown'],
  ] as const)('and says nothing at the %s is given up', async (stage, is) => {
    const { publisher, prepare, server } = await publishOverHttp({ limits: { silenceMs: 500 } });
    const prepared = await prepare();
    server.misbehave = at(stage, () => undefined);
    const ending = await endingOf(publisher.push(prepared));
    expect(ending).toEqual({ is, message: expect.stringMatching(/sent nothing for 0.5 s/) });
  });

  it.each([
    ['advertisement', 'not sent'],
    ['result', 'unknown'],
  ] as const)('and takes for ever at the %s is given up, and its connection with it', async (stage, is) => {
    const { publisher, prepare, server, clock } = await publishOverHttp();
    const prepared = await prepare();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { promise: hungUp, resolve: hangUp } = Promise.withResolvers<unknown>();
    server.misbehave = at(stage, ({ request, response }) => {
      request.socket.on('close', hangUp);
      response.writeHead(200, TYPE).write('0');
      resolve();
    });
    const ending = endingOf(publisher.push(prepared));
    await asked;
    clock.advance(60_000);
    expect(await ending).toEqual({ is, message: expect.stringMatching(/did not answer within 60 s/) });
    await hungUp;
    expect(clock.pending).toBe(0);
  });
});

describe('a server that is away', () => {
  it('from the beginning, was not reached', async () => {
    const { publisher, prepare, server } = await publishOverHttp();
    const prepared = await prepare();
    await server.stop();
    expect(await endingOf(publisher.push(prepared))).toMatchObject({
      is: 'not sent',
      message: expect.stringMatching(/nothing listens there/),
    });
    await server.start();
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
  });

  it('when the pack is to be sent, has got nothing', async () => {
    const { publisher, prepare, server, headOf, base } = await publishOverHttp();
    const prepared = await prepare();
    server.misbehave = at('advertisement', async ({ answer, response }) => {
      const { status, headers, body } = await answer();
      // Gone before the client can come back.
      response.writeHead(status, { ...headers, connection: 'close' }).end(body, () => server.stop());
    });
    const { is, message } = await endingOf(publisher.push(prepared));
    expect(['not sent', 'unknown']).toContain(is);
    expect(message).toMatch(/cannot be reached/);
    expect(await headOf()).toBe(base);
  });

  it('behind a port that accepts and ends, was not reached', async () => {
    const { publisher, prepare, server } = await publishOverHttp();
    const prepared = await prepare();
    await server.stop();
    const other = createServer((socket) => socket.destroy()).listen(server.port, '127.0.0.1');
    onTestFinished(() => void other.close());
    expect((await endingOf(publisher.push(prepared))).is).toBe('not sent');
  });
});

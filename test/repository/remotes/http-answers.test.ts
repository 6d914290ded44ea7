// Tests the messages for HTTP answers that are not Git's: each says what to do.
import { describe, expect, it } from 'vitest';
import type { RepositoryAccess } from '../../../src/model/settings.ts';
import { checkAnswer } from '../../../src/repository/remotes/http-answer.ts';
import { SourceError } from '../../../src/repository/source.ts';
import { followOverHttp } from '../../support/followed-repository.ts';
import { startGitHttpServer } from '../../support/git-http-server.ts';

const ADVERTISEMENT = 'application/x-git-upload-pack-advertisement';
const NOBODY: RepositoryAccess = { username: null, password: null, caFile: null };
const SOMEBODY: RepositoryAccess = {
  username: { kind: 'file', path: '/etc/treeline/user' },
  password: { kind: 'variable', name: 'TREELINE_GIT_PASSWORD' },
  caFile: null,
};

function adviceOn(
  answer: { readonly status?: number; readonly type?: string; readonly body?: string },
  access = NOBODY,
): string {
  const { status = 200, type = ADVERTISEMENT, body = '001e# service=git-upload-pack\n00000000' } = answer;
  const headers = { 'content-type': type };
  try {
    checkAnswer(
      { status, statusMessage: '', headers, body: [Buffer.from(body)] },
      { name: 'https://git.example/stacks.git', access, contentType: ADVERTISEMENT },
    );
    return 'right';
  } catch (error) {
    if (error instanceof SourceError) return error.message.replace('"https://git.example/stacks.git" ', '');
    throw error;
  }
}

describe('an answer', () => {
  it.each([
    [
      401,
      'asks for a user name and a password (401): write them into files, and name these as repository.usernameFile',
    ],
    [403, 'may not be read without a password (403): set repository.passwordFile'],
    [404, 'is not there, or not to be seen without a password (404): check repository.url, or set repository.password'],
    [410, 'is not there, or not to be seen without a password (410)'],
    [407, 'is behind a proxy that asks for a password (407): write it into HTTP_PROXY'],
    [418, 'does not answer as Git does (418): check repository.url'],
    [429, 'has had enough requests for now (429): raise repository.pollSeconds'],
    [203, 'does not answer as Git does (203)'],
    [500, 'fails (500): it is asked again later'],
    [503, 'fails (503): it is asked again later'],
  ])('of status %i', (status, advice) => {
    expect(adviceOn({ status })).toContain(advice);
  });

  it.each([
    [
      401,
      'does not accept the user name and password (401): check /etc/treeline/user and the environment variable TREE',
    ],
    [403, 'may not be read by this user (403): allow it there, or check /etc/treeline/user'],
    [
      404,
      'is not there, or not to be seen by this user (404): check repository.url, and what the user in /etc/treeline',
    ],
  ])('of status %i to somebody with a password names where that stands', (status, advice) => {
    expect(adviceOn({ status }, SOMEBODY)).toContain(advice);
  });

  it.each([
    ['a page', { type: 'text/html; charset=utf-8', body: '<p>' }, 'answers with a web page, perhaps to sign in on'],
    ['a page that hides', { type: 'text/plain', body: ' <!DOCTYPE html>' }, 'answers with a web page'],
    ['plain files', { type: 'text/plain', body: `${'a'.repeat(40)}\trefs/heads/main\n` }, 'the "dumb" protocol'],
    ['JSON', { type: 'application/json', body: '{}' }, 'answers with "application/json" and not with Git'],
    ['nothing named', { type: '', body: 'x' }, 'answers with something unnamed and not with Git'],
    ['nothing', { body: '' }, "sends nothing where Git's answer belongs"],
    ['garbage', { body: 'PK\u0003' }, 'sends something that is not Git'],
    ['a part', { body: '001e# service=git-upload-pack\n0000003f' }, 'is cut off: it is asked again later'],
  ])('that is %s', (_, answer, advice) => {
    expect(adviceOn(answer)).toContain(advice);
  });

  it.each([ADVERTISEMENT, `${ADVERTISEMENT}; charset=utf-8`, ADVERTISEMENT.toUpperCase()])(
    'of the type %s is right',
    (type) => {
      expect(adviceOn({ type })).toBe('right');
    },
  );
});

describe('a status', () => {
  it.each([401, 403, 404, 429, 500, 502, 503])('%i changes nothing', async (status) => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    server.misbehave = ({ response }) => {
      response.writeHead(status).end('sorry');
      return true;
    };
    await expectFailure(new RegExp(`\\(${status} `));
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('200 with a page changes nothing', async () => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    server.misbehave = ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Sign in');
      return true;
    };
    await expectFailure(/answers with a web page/);
    server.misbehave = undefined;
    await expectSuccess();
  });
});

describe('a redirect', () => {
  it('within the host is followed for the whole fetch', async () => {
    const { server, expectSuccess } = await followOverHttp();
    server.misbehave = ({ request, response }) => {
      if (request.url?.startsWith('/stacks.git/') !== true) {
        request.url = request.url?.replace('/new/place.git', '/stacks.git');
        return false;
      }
      response.writeHead(301, { location: request.url.replace('/stacks.git', '/new/place.git') }).end();
      return true;
    };
    await expectSuccess();
    expect(server.requests.at(-1)?.line).toBe('POST /new/place.git/git-upload-pack');
  });

  it('to another host is refused, and nothing is sent there', async () => {
    const { server, repository, expectFailure, expectSuccess } = await followOverHttp();
    const other = await startGitHttpServer({ repository: repository.path });
    server.misbehave = ({ request, response }) => {
      response.writeHead(302, { location: `http://127.0.0.1:${other.port}${request.url}` }).end();
      return true;
    };
    await expectFailure(
      `redirects to "${other.url}", and no other host is followed there: if that is the right place, write it as repository.url`,
    );
    expect(other.requests).toEqual([]);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it.each([
    ['a page to sign in on', '/users/sign_in', /redirects to ".*\/users\/sign_in", which is no repository/],
    ['itself', undefined, /redirects more than 3 times/],
    ['nowhere', 'http://[', /redirects to "http:\/\/\[", and no other host/],
    ['nothing', '', /which is no repository|more than 3 times/],
  ])('to %s is refused', async (_, location, message) => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    server.misbehave = ({ request, response }) => {
      response.writeHead(302, { location: location ?? request.url }).end();
      return true;
    };
    await expectFailure(message);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('in the middle of a fetch is refused', async () => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    server.misbehave = ({ stage, request, response }) => {
      if (stage === 'advertisement') return false;
      response.writeHead(307, { location: request.url }).end();
      return true;
    };
    await expectFailure(/redirects in the middle of a fetch/);
    server.misbehave = undefined;
    await expectSuccess();
  });
});

// One status to a forge over real HTTPS: what the request holds, and what becomes of it where the forge misbehaves.
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { StatusesSettings } from '../../src/model/settings.ts';
import type { Attempt } from '../../src/statuses/post-once.ts';
import { createSendStatus } from '../../src/statuses/send-status.ts';
import type { WantedStatus } from '../../src/statuses/wanted-statuses.ts';
import { type FakeForge, FORGE_TOKEN, startFakeForge } from '../support/fake-forge.ts';
import { startHttpProxy } from '../support/http-proxy.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const STATUS: WantedStatus = { commit: COMMIT, context: 'apply', state: 'success', description: '2 servers done' };
const WORDS = { state: 'success', description: '2 servers done' };
const NOW = Date.parse('2026-11-20T10:00:00Z');
const USED_UP = /^the forge accepts no more requests for now \((403|429)\): its rate limit is used up/;
const CLOCK = { ...systemClock, now: () => NOW };

function send(
  settings: StatusesSettings,
  fields: Partial<WantedStatus> = {},
  signal = new AbortController().signal,
): Promise<Attempt> {
  return createSendStatus(settings, { id: 'eu', clock: CLOCK })({ ...STATUS, ...fields }, signal);
}

/** Answers every request in this way. */
async function answering(
  answer: (response: ServerResponse) => unknown,
  kind: StatusesSettings['kind'] = 'github',
): Promise<FakeForge> {
  const forge = await startFakeForge(kind);
  forge.script = (_request, response) => {
    answer(response);
    return true;
  };
  return forge;
}

/** Expects a failure whose words hold these and no token. */
async function expectUnreachable(settings: StatusesSettings, words: RegExp, waitMs?: number): Promise<void> {
  const delivery = await send(settings);
  expect(delivery).toEqual({ isAccepted: false, isOnlyThis: false, answer: expect.stringMatching(words), waitMs });
  expect(JSON.stringify(delivery)).not.toContain(FORGE_TOKEN);
}

describe('the request', () => {
  it.each<[StatusesSettings['kind'], object]>([
    [
      'github',
      {
        method: 'POST',
        path: `/repos/infra/stacks/statuses/${COMMIT}`,
        headers: expect.objectContaining({
          accept: 'application/vnd.github+json',
          authorization: `Bearer ${FORGE_TOKEN}`,
          'content-type': 'application/json',
          'user-agent': 'treeline',
          'x-github-api-version': '2022-11-28',
        }),
        body: { ...WORDS, context: 'treeline/eu/apply', target_url: 'https://treeline.example/ui/' },
      },
    ],
    [
      'gitea',
      {
        path: `/api/v1/repos/infra/stacks/statuses/${COMMIT}`,
        headers: expect.objectContaining({ authorization: `token ${FORGE_TOKEN}` }),
        body: { ...WORDS, context: 'treeline/eu/apply' },
      },
    ],
    [
      'gitlab',
      {
        // The path of the project is one segment.
        path: `/api/v4/projects/infra%2Fstacks/statuses/${COMMIT}`,
        headers: expect.objectContaining({ 'private-token': FORGE_TOKEN }),
        body: { ...WORDS, name: 'treeline/eu/apply', ref: 'main' },
      },
    ],
  ])('has the form of %s', async (kind, request) => {
    const forge = await startFakeForge(kind);
    const targetUrl = kind === 'github' ? forge.settings.targetUrl : null;
    expect(await send({ ...forge.settings, targetUrl })).toMatchObject({ isAccepted: true });
    expect(forge.requests).toEqual([expect.objectContaining(request)]);
  });

  it.each([
    ['github', ['pending', 'success', 'failure', 'success']],
    ['gitea', ['pending', 'success', 'failure', 'success']],
    ['gitlab', ['running', 'success', 'failed', 'canceled']],
  ] as const)('has the words of %s for states', async (kind, words) => {
    const forge = await startFakeForge(kind);
    for (const state of ['in progress', 'success', 'failure', 'superseded'] as const)
      await send(forge.settings, { state });
    expect(forge.statesOf(COMMIT, 'apply')).toEqual(words);
  });

  it('escapes the project, and shortens a description', async () => {
    const forge = await answering((response) => response.writeHead(201).end());
    await send({ ...forge.settings, project: 'in fra/st?cks' }, { description: 'x'.repeat(200) });
    expect(forge.requests[0]?.path).toBe(`/repos/in%20fra/st%3Fcks/statuses/${COMMIT}`);
    expect(forge.requests[0]?.body.description).toBe('x'.repeat(140));
  });

  it('has the present token of the file, without its newline', async () => {
    const forge = await startFakeForge('github');
    const sender = createSendStatus(forge.settings, { id: 'eu', clock: CLOCK });
    const { signal } = new AbortController();
    forge.token = 'rotated';
    expect(await sender(STATUS, signal)).toMatchObject({ isAccepted: false, answer: /\(401\): see .*tokenFile/ });
    writeFileSync(forge.settings.tokenFile, 'rotated\r\n');
    expect(await sender(STATUS, signal)).toMatchObject({ isAccepted: true });
  });
});

describe('a forge that refuses', () => {
  it.each([
    [400, true],
    [422, true],
    [403, false],
    [429, false],
    [500, false],
  ] as const)('with %d blames this status alone: %s', async (status, isOnlyThis) => {
    const forge = await answering((response) => response.writeHead(status).end(`{"message":"${FORGE_TOKEN}"}`));
    const delivery = await send(forge.settings);
    expect(delivery).toMatchObject({
      isAccepted: false,
      isOnlyThis,
      answer: expect.stringContaining(String(status)),
    });
    expect(JSON.stringify(delivery)).not.toContain(FORGE_TOKEN);
  });

  it('of GitLab because the state is set already counts as success', async () => {
    const forge = await startFakeForge('gitlab');
    expect(await send(forge.settings, { state: 'in progress' })).toMatchObject({ isAccepted: true });
    expect(await send(forge.settings, { state: 'in progress' })).toMatchObject({ isAccepted: true });
    expect(forge.statesOf(COMMIT, 'apply')).toEqual(['running']);
    forge.script = (_request, response) => response.writeHead(400).end() !== undefined;
    expect(await send(forge.settings, { state: 'failure' })).toMatchObject({ isAccepted: false, isOnlyThis: true });
  });

  const [LEFT, RESET] = ['x-ratelimit-remaining', 'x-ratelimit-reset'];
  const SOON = String(NOW / 1000 + 60);
  it.each<[status: number, headers: Record<string, string>, waitMs: number | undefined, words: RegExp]>([
    [500, { 'retry-after': '30' }, 30_000, /answered 500$/],
    [403, { 'retry-after': '30' }, 30_000, USED_UP],
    [403, { 'retry-after': 'Fri, 20 Nov 2026 10:02:00 GMT' }, 120_000, USED_UP],
    [403, { 'retry-after': '86400' }, 3_600_000, USED_UP],
    [403, { [LEFT]: '0', [RESET]: SOON }, 60_000, USED_UP],
    [403, { [LEFT]: '0' }, 60_000, USED_UP],
    [403, { [LEFT]: '5', [RESET]: SOON }, undefined, /may not set commit statuses \(403\)/],
    [429, {}, 60_000, USED_UP],
  ])('with %d %j returns the wait, and no token', async (status, headers, waitMs, words) => {
    const forge = await answering((response) => response.writeHead(status, headers).end());
    await expectUnreachable(forge.settings, words, waitMs);
  });

  it('with a redirect is not followed', async () => {
    const other = await startFakeForge('github');
    const location = `${other.settings.apiUrl}/repos/infra/stacks/statuses/${COMMIT}`;
    const forge = await answering((response) => response.writeHead(307, { location }).end());
    await expectUnreachable(forge.settings, /^the forge redirects \(307\), and redirects are not followed/);
    expect(other.requests).toEqual([]);
  });
});

it('createSendStatus uses the proxy of the environment without printing its password', async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const { settings, requests } = await startFakeForge('github', 'forge.example');
  const proxy = await startHttpProxy(Number(new URL(settings.apiUrl).port));
  vi.stubEnv('HTTPS_PROXY', proxy.url.replace('//', '//user:proxy-secret@'));
  expect(await send(settings)).toMatchObject({ isAccepted: true });
  expect(requests).toHaveLength(1);
  expect(proxy.requests).toEqual([expect.stringMatching(/^CONNECT forge\.example:\d+$/)]);
  proxy.answer = 407;
  const refused = await send(settings);
  expect(refused).toMatchObject({ isAccepted: false, answer: expect.stringContaining('407') });
  expect(JSON.stringify(refused)).not.toContain('proxy-secret');
});

describe('a forge that misbehaves', () => {
  it('without an answer is given some seconds', async () => {
    const { settings } = await answering(() => undefined);
    // A hundred times as fast.
    const clock = { ...CLOCK, after: (ms: number, wake: () => void) => systemClock.after(ms / 100, wake) };
    const sender = createSendStatus(settings, { id: 'eu', clock });
    expect(await sender(STATUS, new AbortController().signal)).toMatchObject({
      isAccepted: false,
      isOnlyThis: false,
      answer: 'the forge did not answer within 15 s',
    });
  });

  it('with an untrusted certificate gets no token', async () => {
    const forge = await startFakeForge('github');
    await expectUnreachable({ ...forge.settings, caFile: null }, /certificate/);
    const { settings } = await startFakeForge('github');
    await expectUnreachable({ ...forge.settings, caFile: settings.caFile }, /certificate|signature/);
    expect(forge.requests).toEqual([]);
  });
});

it.each<[file: string, text: string | undefined, words: RegExp]>([
  ['tokenFile', '', /^statuses\.tokenFile .* is empty/],
  ['tokenFile', 'two words\n', /^statuses\.tokenFile .* must contain only the token/],
  ['tokenFile', undefined, /^statuses\.tokenFile \/gone cannot be read: it is not there/],
  ['caFile', undefined, /^statuses\.caFile \/gone cannot be read: it is not there/],
])('createSendStatus sends nothing if %s has the content %j', async (file, text, words) => {
  const forge = await startFakeForge('github');
  if (text !== undefined) writeFileSync(forge.settings.tokenFile, text);
  await expectUnreachable({ ...forge.settings, ...(text === undefined && { [file]: '/gone' }) }, words);
  expect(forge.requests).toEqual([]);
});

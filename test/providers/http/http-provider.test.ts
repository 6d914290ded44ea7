// The provider that asks services, on real HTTP: signatures, polls, and services that misbehave.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import type { Answer } from '../../../src/model/call-result.ts';
import { ANSWER_BYTES_MAX } from '../../../src/providers/answer-json.ts';
import { createHttpProvider } from '../../../src/providers/http/http-provider.ts';
import type { Call, Provider } from '../../../src/providers/provider.ts';
import { describeProvider } from '../../contract/provider.ts';
import { callOf } from '../../support/calls.ts';
import { serveInTest } from '../../support/listen-in-test.ts';
import {
  SERVICE_SECRET,
  type ServiceOfServers,
  type ServiceRequest,
  startService,
} from '../../support/service-of-servers.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Time passes a hundred times as fast while a poll is waited for. */
const HASTY: Clock = { ...systemClock, after: (ms, wake) => systemClock.after(ms / 100, wake) };

for (const polls of [0, 2]) {
  describeProvider(polls === 0 ? 'http' : 'http, with polls', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
    const service = await startService();
    service.polls = polls;
    const secretFile = join(directory, 'secret');
    writeFileSync(secretFile, SERVICE_SECRET);
    return {
      open: async () => createHttpProvider({ url: service.url, secretFile, caFile: null, clock: HASTY }),
      remove: () => rm(directory, { recursive: true }),
    };
  });
}

interface Trial {
  readonly service: ServiceOfServers;
  readonly provider: Provider;
  readonly secretFile: string;
  perform(fields?: Partial<Call>, ms?: number): Promise<Answer>;
}

async function trialOf(script: (request: ServiceRequest) => boolean = () => false): Promise<Trial> {
  const service = await startService();
  service.script = script;
  const secretFile = join(temporaryDirectory(), 'secret');
  writeFileSync(secretFile, `${SERVICE_SECRET}\n`);
  const provider = createHttpProvider({ url: service.url, secretFile, caFile: null, clock: HASTY });
  const perform = (fields: Partial<Call> = {}, ms = 10_000): Promise<Answer> =>
    provider.perform(callOf(fields), AbortSignal.timeout(ms));
  return { service, provider, secretFile, perform };
}

/** Answers every POST in this way. */
function replies(status: number, headers: Readonly<Record<string, string>> = {}, body = ''): Promise<Trial> {
  return trialOf(({ method, response }) => {
    if (method === 'POST') response.writeHead(status, headers).end(body);
    return method === 'POST';
  });
}

describe('a request of the http provider', () => {
  it('is a signed POST of the call', async () => {
    const { service, perform } = await trialOf();
    expect(await perform({ properties: { name: 'web-1', note: 'ü' } })).toMatchObject({
      outcome: 'done',
      observed: { note: 'ü' },
    });
    const [request] = service.requests;
    expect(request).toMatchObject({
      method: 'POST',
      url: '/calls?site=lab',
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      version: 1,
      ...callOf({ properties: { name: 'web-1', note: 'ü' } }),
    });
  });

  it('is signed with the current secret of the file, and not sent without one', async () => {
    const { perform, secretFile, service } = await trialOf();
    writeFileSync(secretFile, 'another');
    expect(await perform()).toMatchObject({
      outcome: 'failed',
      message: expect.stringMatching(/answered 401: the signature is wrong$/),
    });
    writeFileSync(secretFile, SERVICE_SECRET);
    expect(await perform()).toMatchObject({ outcome: 'done' });
    writeFileSync(secretFile, '\n');
    expect(await perform()).toMatchObject({ outcome: 'retryable', message: expect.stringContaining('is empty') });
    expect(service.requests).toHaveLength(2);
  });

  it('is only sent to a server with a trusted certificate', async () => {
    const { port, caFile: ca } = await serveInTest((_, response) => void response.end('{"outcome":"absent"}'));
    const secretFile = join(temporaryDirectory(), 'secret');
    writeFileSync(secretFile, 's');
    const url = `https://127.0.0.1:${port}/`;
    const open = (caFile: string | null): Provider => createHttpProvider({ url, secretFile, caFile, clock: HASTY });
    const signal = AbortSignal.timeout(10_000);
    expect(await open(ca).perform(callOf(), signal)).toMatchObject({ outcome: 'absent' });
    // Nothing was sent, so nothing can have happened.
    expect(await open(null).perform(callOf(), signal)).toMatchObject({
      outcome: 'retryable',
      message: expect.stringContaining('cannot be reached'),
    });
  });
});

describe('a reply to the http provider', () => {
  it.each([
    [500, 'retryable'],
    [503, 'retryable'],
    [429, 'retryable'],
    [400, 'failed'],
    [404, 'failed'],
    [302, 'failed'],
  ])('of %d without an answer is %s', async (status, outcome) => {
    const { perform, service } = await replies(status, { location: 'http://127.0.0.1:1/' }, 'no \x1b[31mway');
    expect(await perform()).toMatchObject({
      outcome,
      message: expect.stringContaining(`answered ${status}: no  [31mway`),
    });
    expect(service.requests).toHaveLength(1);
  });

  it('with an answer is valid for any status, up to the size limit', async () => {
    const { perform } = await replies(500, {}, '{"outcome":"absent","message":"gone"}'.padEnd(ANSWER_BYTES_MAX));
    expect(await perform({ operation: 'delete' })).toMatchObject({ outcome: 'absent', message: 'gone' });
  });

  it.each([
    [200, {}, 'hello', 'the answer is not one JSON object: "hello"'],
    [200, {}, '', 'there is no answer'],
    [200, {}, 'x'.repeat(ANSWER_BYTES_MAX + 1), 'the answer has more than 1048576 bytes'],
    [502, {}, '', 'answered 502, without an answer'],
    [504, {}, '', 'answered 504, without an answer'],
    [202, {}, '', '202 was answered without a "Location" to poll'],
    [202, { location: 'http://127.0.0.2/x' }, '', 'and only http://127.0.0.1:'],
  ])('is lost: %d %j', async (status, headers, body, words) => {
    const { perform } = await replies(status, headers as Record<string, string>, body);
    await expect(perform()).rejects.toThrow(words);
  });

  it('that never arrives is lost at the deadline, and a refused connection is retryable', async () => {
    const { perform, service } = await trialOf(() => true);
    await expect(perform({}, 100)).rejects.toThrow('aborted');
    service.polls = 1_000_000;
    service.script = () => false;
    await expect(perform({}, 150)).rejects.toThrow('aborted');
    service.script = ({ response }) => {
      response.destroy();
      return true;
    };
    await expect(perform()).rejects.toThrow('was lost');
    const secretFile = join(temporaryDirectory(), 'secret');
    writeFileSync(secretFile, 's');
    const nowhere = createHttpProvider({ url: 'http://127.0.0.1:1/', secretFile, caFile: null, clock: HASTY });
    const answer = await nowhere.perform(callOf(), AbortSignal.timeout(10_000));
    expect(answer).toMatchObject({
      outcome: 'retryable',
      message: expect.stringMatching(/cannot be reached: .*ECONNREFUSED/),
    });
  });
});

describe('long work of a service', () => {
  it('is polled until it answers, even while the service is unreachable', async () => {
    let count = 0;
    const { perform, service } = await trialOf(({ method, response }) => {
      if (method === 'POST') return false;
      count += 1;
      if (count === 1) response.destroy();
      else if (count < 4) response.writeHead(503).end();
      return count < 4;
    });
    service.polls = 2;
    expect(await perform()).toMatchObject({ outcome: 'done' });
    expect(service.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /calls?site=lab',
      ...Array(5).fill('GET /jobs/1'),
    ]);
  });

  it('that the service has forgotten is lost', async () => {
    const { perform } = await replies(202, { location: '/jobs/999' });
    await expect(perform()).rejects.toThrow('answered 404: no such job, to a poll');
  });
});

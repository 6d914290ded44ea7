// The cache of answers: until something changes, and in no more memory than it may take.
import { createServer, type IncomingMessage } from 'node:http';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { WrittenAnswer } from '../../src/api/answer.ts';
import { AnswerCache } from '../../src/api/answer-cache.ts';
import { sendKept } from '../../src/api/reads.ts';
import { countRequests, passSteps } from '../../src/api/request-steps.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { listenInTest } from '../support/listen-in-test.ts';

const answer = (json: string): WrittenAnswer => ({
  pieces: [Buffer.from(json)],
  bytes: json.length,
  etag: `"${json.length}"`,
});
const requestOf = (url: string): IncomingMessage =>
  ({ url, route: { path: '/hiera/:clientcert' } }) as unknown as IncomingMessage;

let version: string;
let cache: AnswerCache;
beforeEach(() => {
  version = '1';
  cache = new AnswerCache(() => version, 10_000);
});

describe('an answer in the cache', () => {
  it('is found while the version is the same', () => {
    const one = answer('one');
    cache.keep(requestOf('/hiera/web-1'), '1', one);
    expect(cache.find(requestOf('/hiera/web-1'))).toEqual({ ...one, route: '/hiera/:clientcert' });
    expect(cache.find(requestOf('/hiera/web-2'))).toBeUndefined();
    for (version of ['2', '1']) expect(cache.find(requestOf('/hiera/web-1'))).toBeUndefined();
  });

  it('is not kept if it was started at another version', () => {
    version = '2';
    cache.keep(requestOf('/hiera/web-1'), '1', answer('one'));
    expect(cache.find(requestOf('/hiera/web-1'))).toBeUndefined();
  });

  it.each(['/hiera/web-1?', '/hiera/web-1?info=true', '/hiera/%77eb-1'])('has one path, not %s', (path) => {
    cache.keep(requestOf(path), '1', answer('one'));
    expect(cache.find(requestOf(path))).toBeUndefined();
  });

  it('is removed when the limit is reached, the oldest first', () => {
    for (let number = 0; number < 100; number += 1) {
      cache.keep(requestOf(`/hiera/${number}`), '1', answer('x'.repeat(700)));
    }
    const found = Array.from({ length: 100 }, (_, number) => cache.find(requestOf(`/hiera/${number}`)) !== undefined);
    expect(found.lastIndexOf(false)).toBe(89);
    expect(found.slice(90)).toEqual(Array(10).fill(true));
  });

  it('does not count after it was dropped with its version', () => {
    for (let time = 0; time < 50; time += 1) {
      version = String(time);
      for (const path of ['/1', '/2']) cache.keep(requestOf(path), version, answer('x'.repeat(4_000)));
      expect(['/1', '/2'].map((path) => cache.find(requestOf(path)) !== undefined)).toEqual([true, true]);
    }
  });
});

it('a kept answer is sent without routing, and counted for its route', async () => {
  const metrics = new Metrics();
  onTestFinished(() => metrics.stop());
  cache.keep(requestOf('/hiera/web-1'), '1', answer('"one"'));
  cache.keep(requestOf('/hiera/web-2'), '1', answer(`"${'x'.repeat(5_000)}"`));
  const steps = [countRequests(metrics, systemClock), sendKept({ commit: () => 'abc' }, cache)];
  const server = createServer(
    passSteps(
      steps,
      (_, response) => response.writeHead(418).end(),
      (error) => expect.fail(String(error)),
    ),
  );
  const port = await listenInTest(server);
  const ask = async (path: string, method = 'GET') => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return [reply.status, await reply.text()];
  };
  expect(await ask('/hiera/web-1')).toEqual([200, '"one"']);
  expect(await ask('/hiera/web-1', 'POST')).toEqual([418, '']);
  // It is compressed behind the routes.
  expect(await ask('/hiera/web-2')).toEqual([418, '']);
  const counted = 'treeline_http_requests_total{route="/hiera/:clientcert",role="none",code="200"} 1';
  await expect.poll(() => metrics.text()).toContain(counted);
});

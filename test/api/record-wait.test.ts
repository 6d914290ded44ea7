// `GET /hiera/{clientcert}/?wait=` over real TLS: how long it waits, for what, and what ends it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { RECORD } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const PATH = '/hiera/shop-web/';
/** Ten times as fast. */
const clock: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * 10,
  after: (ms, wake) => systemClock.after(ms / 10, wake),
};
let api: TestApi;
let etag: string;
beforeEach(async () => {
  api = await startTestApi(clock);
  etag = String((await api.request(PATH)).headers.etag);
});
afterEach(() => api.api.close());

function wait(seconds: number | string, known = etag, path = PATH) {
  return api.request(`${path}?wait=${seconds}`, { headers: { 'If-None-Match': known } });
}

/** Resolves, with the answer to come, once a request has begun to wait. */
async function waiting(
  seconds: number,
): Promise<{ readonly answer: ReturnType<typeof wait>; readonly looks: () => number }> {
  let looks = 0;
  const { recordSources } = api.reader;
  api.reader.recordSources = (name) => {
    looks += 1;
    return recordSources(name);
  };
  const answer = wait(seconds);
  await expect.poll(() => looks).toBeGreaterThan(0);
  return { answer, looks: () => looks };
}

describe('a read of a record that waits', () => {
  it('is answered when the record changes', async () => {
    const { answer } = await waiting(60);
    api.reader.records = { 'shop-web': { ...RECORD, cpus: 8 } };
    expect(await answer).toMatchObject({ status: 200, body: { cpus: 8 } });
  });

  it('is not answered by other changes, and ends with 304', async () => {
    const { answer, looks } = await waiting(8);
    const before = looks();
    api.reader.records = { 'shop-web': { ...RECORD } };
    await expect.poll(looks).toBeGreaterThan(before);
    expect((await answer).status).toBe(304);
  });

  it.each<readonly [what: string, seconds: number | string, known: string, path: string, status: number]>([
    ['has another record already', 60, '"other"', PATH, 200],
    ['asks for an unknown node', 60, '"other"', '/hiera/nobody/', 404],
    ['sends no wait', 0, '', PATH, 304],
    ['sends too long a wait', 61, '', PATH, 400],
    ['sends no number', 'long', '', PATH, 400],
  ])('is answered immediately if its client %s', async (_, seconds, known, path, status) => {
    expect((await wait(seconds, known || etag, path)).status).toBe(status);
  });

  it('is answered immediately without a tag', async () => {
    expect((await api.request(`${PATH}?wait=60`)).status).toBe(200);
  });

  it('is refused when its client is removed', async () => {
    const { answer } = await waiting(60);
    api.reader.registry.clear();
    api.reader.records = { 'shop-web': { ...RECORD, cpus: 8 } };
    expect(await answer).toMatchObject({ status: 403, body: { error: 'client_not_registered' } });
  });

  it('is answered when the node is gone', async () => {
    const { answer } = await waiting(60);
    api.reader.records = {};
    expect((await answer).status).toBe(404);
  });

  it('is answered when the replica stops', async () => {
    const { answer } = await waiting(60);
    api.sample.streams.close();
    expect((await answer).status).toBe(304);
  });
});

// The answer with all records.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { NodeAtMoment, NodeRecord } from '../../src/model/record.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

const ALL = '/hiera/all';
const GROUP = 'web';
/** The nodes that there are. */
let nodes: Map<string, NodeAtMoment>;
/** How often all of them were asked for. */
let found: number;
let version = 0;
beforeEach(() => {
  [nodes, found] = [new Map(), 0];
  version += 1;
  Object.assign(api.reader, {
    version: () => `of this test ${version}`,
    record: (name: string) => nodes.get(name)?.record(),
    explainedRecord: (name: string) => nodes.get(name)?.explained(),
    nodes() {
      found += 1;
      return [...nodes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    },
  });
});

function set(name: string, keys: NodeRecord, work: () => void = () => undefined): void {
  const record = (): NodeRecord => {
    work();
    return { ...keys, name, description: '', type: 'clientcert' };
  };
  const source = { type: 'common', name: 'global', file: 'types/common/global.yaml', line: 3 } as const;
  const note = { value: String(keys.note), ...source, merge: 'first', overrides: [] } as const;
  nodes.set(name, { name, group: GROUP, record, explained: () => ({ note }), value: () => undefined });
}

function setMany(count: number): void {
  for (let number = 0; number < count; number += 1) set(`web-${number}`, { port: number, note: 'Grüße' });
}

it.each([0, 1, 400])('%d records are one JSON object in the order of names, made once', async (count) => {
  setMany(count);
  const answer = await api.request(ALL);
  const names = Array.from({ length: count }, (_, number) => `web-${number}`).sort();
  expect(Object.keys(answer.body as object)).toEqual(names);
  expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
  expect(answer.body).toEqual(Object.fromEntries(names.map((name) => [name, nodes.get(name)?.record()])));
  expect((await api.request(ALL)).bytes).toEqual(answer.bytes);
  expect(found).toBe(1);
});

it.each(['', '&info=true'])('GET /hiera/all returns each record with its group and ETag (%s)', async (info) => {
  setMany(2);
  const alone = await Promise.all(
    [...nodes.keys()].map(async (name) => {
      const { headers, body } = await api.request(`/hiera/${name}/?${info}`);
      return [name, { group: GROUP, etag: headers.etag, record: body }];
    }),
  );
  const { body } = await api.request(`${ALL}?inventory=true${info}`);
  expect(body).toEqual(Object.fromEntries(alone));
});

it('a record that cannot be computed fails alone', async () => {
  setMany(3);
  let isBroken = true;
  set('web-x', { port: 1 }, () => {
    if (isBroken) throw new Error('broken');
  });
  expect((await api.request(ALL)).status).toBe(500);
  isBroken = false;
  expect((await api.request(ALL)).status).toBe(200);
});

// Counts the work for a large instance: it grows with servers and dependencies, not with their square.

import { expect, test, vi } from 'vitest';
import { Core } from './core.ts';

const SERVERS = 300;
const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/one.yaml': 'resources: { s: { type: Platform::Server } }\n',
  'stacks/templates/many.yaml': `resources:
  s: { type: Platform::ResourceGroup, properties: { count: "${SERVERS}", resource_def: { properties: {} } } }
`,
  'stacks/instances/keep.yaml': 'stackTemplate: one\n',
  'stacks/instances/shop.yaml': 'stackTemplate: many\n',
};

test('a server that depends on many is not woken by each of them', async () => {
  const low = 200;
  const top = 50;
  const group = (count: number, properties: string): string =>
    `{ type: Platform::ResourceGroup, properties: { count: "${count}", index_start: "001", max_unavailable: "100%", resource_def: { properties: { ${properties} } } } }`;
  const template = (size: number): string =>
    `resources:\n  low: ${group(low, `size: "${size}"`)}\n  top: ${group(top, `size: "${size}", depends_on: low`)}\n`;
  const core = new Core({ concurrency: 1 });
  core.source.commit({ ...FILES, 'stacks/templates/many.yaml': template(1) });
  await core.poll();
  const reads = vi.spyOn(core.ledger, 'server');
  core.source.commit({ 'stacks/templates/many.yaml': template(2) });
  await core.poll();
  expect(core.calls('update')).toHaveLength(low + top);
  expect(reads.mock.calls.length).toBeLessThan(10 * low * low);
});

test('the servers of an instance are not listed again for each of them that goes', async () => {
  const core = new Core({ budget: { percent: 100, least: 1_000, most: 1_000 } });
  core.source.commit(FILES);
  await core.poll();
  const listed = vi.spyOn(core.ledger.index, 'serversOf');
  core.source.commit({ 'stacks/instances/shop.yaml': null });
  await core.poll();
  expect(core.states()).toEqual({ 'keep-s': 'done' });
  expect(core.reader.instances().map(({ name }) => name)).toEqual(['keep']);
  expect(core.ledger.list('terminating').size).toBe(0);
  const walked = listed.mock.results.reduce((sum, { value }) => sum + value.length, 0);
  expect(walked).toBeLessThanOrEqual(2 * SERVERS);
});

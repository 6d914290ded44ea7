// Explains nodes of the desired state, and nodes that only their row remembers.
import { expect, test } from 'vitest';
import { explanationOfNode } from '../../src/desired/node-records.ts';
import type { ExplainedRecord } from '../../src/model/record.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { TextRepository } from '../support/text-repository.ts';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'types/common/global.yaml': 'port: 80\nsize: 1\n',
  'types/clientcert/lab.yaml': 'size: 2\n',
  'stacks/templates/t.yaml': 'resources: { a: { type: "Platform::Server", properties: { colour: red } } }\n',
  'stacks/instances/shop.yaml': 'stackTemplate: t\n',
};
const NO_ROWS = { server: () => undefined, read: () => undefined };

test('explanationOfNode names the layers of each value, all of them or of one key, and the commit', () => {
  const repository = new TextRepository();
  const desired = repository.commit(FILES);
  const valuesOf = (name: string, key?: string) => {
    const found = explanationOfNode({ desired, rows: NO_ROWS }, name, key);
    const values = Object.entries(found?.keys ?? {}).map(([each, { value }]) => [each, value] as const);
    return { commit: found?.commit, values: Object.fromEntries(values) };
  };
  expect(valuesOf('lab')).toEqual({ commit: desired.commit, values: expect.objectContaining({ port: 80, size: 2 }) });
  expect(valuesOf('shop-a', 'colour')).toEqual({ commit: desired.commit, values: { colour: 'red' } });
  // A pinned version is explained as its own commit has it.
  const pinned = repository.commit({ 'stacks/instances/shop.yaml': 'stackTemplate: none\n' });
  expect(explanationOfNode({ desired: pinned, rows: NO_ROWS }, 'shop-a')?.commit).toBe(desired.commit);
});

test('explanationOfNode explains a node that no commit wants by its last record, and no other', () => {
  const desired = new TextRepository().commit(FILES);
  const lastRecord = { port: { value: 81, overrides: [] } } as unknown as ExplainedRecord;
  const row = { instance: 'former', lastRecord } as ServerRow;
  const rows = { ...NO_ROWS, server: (name: string) => (name === 'gone' ? row : undefined) };
  expect(explanationOfNode({ desired, rows }, 'gone')).toMatchObject({ isWanted: false, stackInstance: ['former'] });
  expect(explanationOfNode({ desired, rows }, 'other')).toBeUndefined();
});

import { expect, it } from 'vitest';
import { KEYS, LAYERS, recordsFiles, serversOf } from '../../bench/records-files.ts';
import { nodeOf } from '../../src/desired/node-records.ts';
import { buildPlainRecord } from '../../src/hiera/record.ts';
import { TextRepository } from '../support/text-repository.ts';

const FACTS = { outputs: {}, updated: '' };

it('recordsFiles makes a valid installation whose servers have every key and layer', () => {
  const desired = new TextRepository().commit(recordsFiles(400));
  expect(desired.problems).toEqual([]);
  const names = serversOf(400).flat();
  expect(names).toHaveLength(400);
  for (const name of names) {
    const node = nodeOf(desired, name);
    expect(node?.shared.map(({ type }) => type)).toEqual(LAYERS);
    if (node !== undefined)
      expect(Object.keys(buildPlainRecord(node, FACTS))).toEqual(expect.arrayContaining([...KEYS]));
  }
});

it('recordsFiles has values from every layer in one record', () => {
  const node = nodeOf(new TextRepository().commit(recordsFiles(10)), 'instance-0-web-1');
  const values = Object.values(node === undefined ? {} : buildPlainRecord(node, FACTS)).flat();
  const layers = new Set(values.map((value) => /^[a-z]+(?=[ -]\d+$)/.exec(String(value))?.[0]));
  expect([...layers]).toEqual(expect.arrayContaining([...LAYERS]));
});

// All layers of a node: which there are, what each says of a key, and that the result is always that of the record.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { wantsBlob } from '../../src/catalog/load-catalog.ts';
import { derive } from '../../src/derive.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { explanationOfNode, nodeNames } from '../../src/desired/node-records.ts';
import { explainLastRecord, explainNode } from '../../src/hiera/explain-node.ts';
import { resolveNode } from '../../src/hiera/resolve-node.ts';
import type { NodeExplanation } from '../../src/model/explanation.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { Properties } from '../../src/model/objects.ts';
import type { ExplainedRecord } from '../../src/model/record.ts';
import { readDirectory } from '../../src/repository/directory-snapshot.ts';
import { explainedRecordOf } from '../support/explained-records.ts';
import { objectEntry, scopeOf, serverOf } from './build.ts';

const GOLDEN = join(import.meta.dirname, '..', 'golden');
const SAMPLE = join(import.meta.dirname, '..', '..', 'sample-repo');
const TIME = '2026-11-20T10:13:56Z';

const OBJECTS = [
  objectEntry('types/common/base.yaml', 'ntp: [a, b]\nlevel: info\nproxy: p\n'),
  objectEntry('types/environment/prod.yaml', 'level: warning\nproxy: null\nntp: [b, c]\n'),
  objectEntry('types/role/web.yaml', 'ntp: [d]\n'),
];
const HIERARCHY = 'merge: { ntp: unique }\nsecrets: { keys: [_password$], reference: ^secret/ }\n';

type Explained = Omit<NodeExplanation, 'files'>;

function explain(
  key?: string,
  { outputs = {}, clientcert = '' }: { outputs?: JsonMap; clientcert?: string } = {},
): Explained {
  const entry = clientcert === '' ? undefined : objectEntry('types/clientcert/web-1.yaml', clientcert);
  const properties = { environment: 'prod', location: 'eu', role: 'web', size: 'xl' };
  const scope = scopeOf({ objects: OBJECTS, hierarchy: HIERARCHY });
  const { node, problems } = resolveNode({ server: serverOf({ properties }), clientcert: entry }, scope);
  expect(problems).toEqual([]);
  return explainNode(node, { outputs, updated: TIME, root: 'base', commit: null, key });
}

/** The layers as `<type> <name>: <status>`, and what they say. */
function said({ layers, keys }: Explained, key: string): readonly string[] {
  return (keys[key]?.statements ?? []).map(({ layer, value, effect }) => {
    const { kind, type, name } = layers[layer] ?? { kind: '', type: '', name: '' };
    return `${kind} ${type} ${name}: ${JSON.stringify(value)} ${effect}`;
  });
}

describe('all layers of a node', () => {
  it('are all listed, specific to general', () => {
    const { layers } = explain('level');
    expect(layers.map(({ kind, type, name, file, status }) => [kind, type, name, file, status])).toEqual([
      ['computed', 'clientcert', 'web-1', null, 'present'],
      ['object', 'clientcert', 'web-1', null, 'absent'],
      ['properties', 'clientcert', 'web-1', null, 'present'],
      ['outputs', 'clientcert', 'web-1', null, 'present'],
      ['object', 'configuration', null, null, 'not selected'],
      ['object', 'role', 'web', 'types/role/web.yaml', 'present'],
      ['object', 'shape', null, null, 'not selected'],
      ['object', 'zone', null, null, 'not selected'],
      ['object', 'location', 'eu', null, 'absent'],
      ['object', 'environment', 'prod', 'types/environment/prod.yaml', 'present'],
      ['object', 'common', 'base', 'types/common/base.yaml', 'present'],
    ]);
  });

  it('show their values, and the most specific wins', () => {
    const level = explain('level', { outputs: { level: 'trace' }, clientcert: '# more\nlevel: debug\n' });
    expect(said(level, 'level')).toEqual([
      'object clientcert web-1: "debug" used',
      'outputs clientcert web-1: "trace" overridden',
      'object environment prod: "warning" overridden',
      'object common base: "info" overridden',
    ]);
    expect(level.keys.level?.statements.map(({ at }) => at)).toEqual([
      { file: 'types/clientcert/web-1.yaml', line: 2 },
      null,
      { file: 'types/environment/prod.yaml', line: 1 },
      { file: 'types/common/base.yaml', line: 2 },
    ]);
  });

  it('show a key that one of them removes, but no key that none sets', () => {
    const proxy = explain('proxy');
    expect(proxy.keys.proxy?.value).toBeNull();
    expect(said(proxy, 'proxy')).toEqual([
      'object environment prod: null removes',
      'object common base: "p" overridden',
    ]);
    expect(explain('nothing').keys).toEqual({});
    expect(explain('__proto__').keys).toEqual({});
  });

  it('show which part of a joined list each has', () => {
    const { keys } = explain('ntp', { clientcert: 'ntp: [a]\n' });
    expect(keys.ntp?.value).toEqual(['a', 'd', 'b', 'c']);
    expect(keys.ntp?.statements.map(({ value, adds }) => [value, adds])).toEqual([
      [['a'], ['a']],
      [['d'], ['d']],
      [
        ['b', 'c'],
        ['b', 'c'],
      ],
      [['a', 'b'], []],
    ]);
  });

  it('show a secret of a provider only as the record does', () => {
    const explained = explain(undefined, { outputs: { root_password: 'hunter2', db_password: 'secret/db' } });
    expect(JSON.stringify(explained)).not.toContain('hunter2');
    expect(explained.keys.db_password).toMatchObject({ value: 'secret/db', isSecret: true });
  });
});

it('explainNode reads no other unit', async () => {
  const derivation = derive(await readDirectory(SAMPLE, { time: TIME, wants: wantsBlob() }));
  if (!derivation.isFollowed) throw new Error('the sample is wrong');
  const { desired } = derivation;
  const notRead = (): never => {
    throw new Error('another unit is read');
  };
  const units = new Map(
    [...desired.units].map(([key, unit]) => [key, unit.nodes.has('lab-db') ? unit : new Proxy(unit, { get: notRead })]),
  );
  expect(() => [...nodeNames({ ...desired, units })]).toThrow('another unit is read');
  expect(explanationIn({ ...desired, units }, 'lab-db', 'log_level')?.keys.log_level?.value).toBe('info');
});

describe('the explained result', () => {
  const cases = ['sample-repo', ...readdirSync(GOLDEN)].filter((name, index, all) => all.indexOf(name) === index);

  it.each(cases)('equals the record in every key of every node: %s', async (name) => {
    const directory = name === 'sample-repo' ? SAMPLE : join(GOLDEN, name, 'repo');
    const derivation = derive(await readDirectory(directory, { time: TIME, wants: wantsBlob() }));
    if (!derivation.isFollowed) return;
    const { desired } = derivation;
    for (const node of nodeNames(desired)) {
      const record = explainedRecordOf(desired, node, TIME);
      const whole = explanationIn(desired, node);
      const there = Object.entries(whole?.keys ?? {}).filter(([, { value }]) => value !== null);
      expect(Object.fromEntries(there.map(([key, { value }]) => [key, value]))).toEqual(
        Object.fromEntries(Object.entries(record ?? {}).map(([key, { value }]) => [key, value])),
      );
      expect(there.map(([key]) => key)).toEqual(Object.keys(record ?? {}));
      for (const [key, { statements }] of there) {
        const { file, line, overrides } = record?.[key] ?? { file: null, line: null, overrides: [] };
        expect(statements[0]?.at).toEqual(file === null ? null : { file, line });
        expect(statements.slice(1).map(({ value }) => value)).toEqual(overrides.map(({ value }) => value));
        expect(explanationIn(desired, node, key)?.keys[key]).toEqual(whole?.keys[key]);
      }
    }
  });
});

function explanationIn(desired: DesiredState, node: string, key?: string): Explained | undefined {
  const rows = { server: () => undefined, read: () => ({ oid: '', updated: TIME }) };
  return explanationOfNode({ desired, rows }, node, key);
}

describe('the last record of a server that no commit wants', () => {
  const role = { type: 'role', name: 'web', file: 'types/role/web.yaml', line: 1 };
  const common = { type: 'common', name: 'base', file: 'types/common/base.yaml', line: 2 };
  const computed = { type: 'clientcert', name: 'web-1', file: null, line: null };
  const record: ExplainedRecord = {
    name: { ...computed, value: 'web-1', merge: 'first', overrides: [] },
    level: { ...role, value: 'debug', merge: 'first', overrides: [{ ...common, value: 'info' }] },
    ntp: {
      ...role,
      value: ['d', 'b'],
      merge: 'unique',
      overrides: [
        { ...computed, type: 'environment', name: 'prod', value: ['b'] },
        { ...computed, type: 'zone', name: 'z', value: null },
        { ...common, value: ['a'] },
      ],
    },
  };

  it('has each layer with values once, for all keys or for one', () => {
    const explained = explainLastRecord('web-1', 'shop', { record });
    expect(explained).toMatchObject({ node: 'web-1', stackInstance: ['shop'], isWanted: false });
    expect(explained.layers.filter(({ type }) => type === 'role')).toHaveLength(1);
    expect(said(explained, 'name')).toEqual(['computed clientcert web-1: "web-1" used']);
    expect(said(explained, 'level')).toEqual([
      'object role web: "debug" used',
      'object common base: "info" overridden',
    ]);
    expect(said(explained, 'ntp')).toEqual([
      'object role web: ["d","b"] used',
      'computed environment prod: ["b"] used',
      'computed zone z: null removes',
      'object common base: ["a"] overridden',
    ]);
    expect(explained.keys.level?.statements.map(({ at }) => at)).toEqual([
      { file: 'types/role/web.yaml', line: 1 },
      { file: 'types/common/base.yaml', line: 2 },
    ]);
    expect(explained.keys.name?.statements[0]?.at).toBeNull();
    expect(Object.keys(explainLastRecord('web-1', 'shop', { record, key: 'level' }).keys)).toEqual(['level']);
  });
});

it.each<[string, Properties | undefined, value: string | null, effect: string]>([
  ['names the server that reports it', { level: 'db://10.0.0.1' }, 'db://10.0.0.1', 'used'],
  ['is unknown before the first action', undefined, null, 'unknown'],
  ['is unknown without the output', {}, null, 'unknown'],
])('a property that uses an output %s, and hides other layers', (_, properties, value, effect) => {
  const scope = scopeOf({ objects: OBJECTS, hierarchy: HIERARCHY });
  const reads = { level: { isList: false, texts: [['db://', { output: 'address', of: 'db' }]] } };
  const server = { ...serverOf({ properties: { environment: 'prod' } }), reads };
  const { node } = resolveNode({ server, clientcert: undefined }, scope);
  const facts = { outputs: {}, updated: TIME, ...(properties && { properties }) };
  const outputs = [{ output: 'address', servers: ['db'] }];
  expect(explainNode(node, { ...facts, root: 'base', commit: null, key: 'level' }).keys.level).toMatchObject({
    value,
    statements: [{ value, effect, outputs }, { effect: 'overridden' }, { effect: 'overridden' }],
  });
});

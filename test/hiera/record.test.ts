import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { explainRecord, explainValue } from '../../src/hiera/explain-node.ts';
import type { HieraNode } from '../../src/hiera/node.ts';
import { buildPlainRecord, type NodeFacts } from '../../src/hiera/record.ts';
import { resolveNode } from '../../src/hiera/resolve-node.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { objectEntry, scopeOf, serverOf } from './build.ts';

const UPDATED = '2026-11-20T10:13:56Z';
const OBJECTS = [
  objectEntry('types/common/base.yaml', 'description: All\nntp: [a, b]\nlevel: info\nproxy: p\ntls: false\n'),
  objectEntry('types/environment/prod.yaml', 'level: warning\nproxy: null\nip: unknown\n'),
  objectEntry('types/role/web.yaml', '# the web\nntp:\n  - c\nlevel: error\nports: ["80", "443"]\n'),
];
const HIERARCHY = 'merge: { ntp: unique }';

function nodeOf(properties: Readonly<Record<string, string | string[]>>, clientcert?: string): HieraNode {
  const entry = clientcert === undefined ? undefined : objectEntry('types/clientcert/web-1.yaml', clientcert);
  const scope = scopeOf({ objects: OBJECTS, hierarchy: HIERARCHY });
  const { node, problems } = resolveNode({ server: serverOf({ properties }), clientcert: entry }, scope);
  expect(problems).toEqual([]);
  return node;
}

function factsOf(outputs: JsonMap = {}): NodeFacts {
  return { outputs, updated: UPDATED };
}

const NODE = nodeOf({ environment: 'prod', role: 'web', app: 'shop' }, 'level: debug\ntls: null\nproxy: q\n');

describe('a record', () => {
  test('has the computed keys first, then the others in order', () => {
    const record = buildPlainRecord(
      NODE,
      factsOf({ ip: '10.0.0.1', 'B-key': 1, cores: 4, app: 'reported', level: 'reported' }),
    );
    expect(Object.entries(record)).toEqual([
      ['name', 'web-1'],
      ['description', 'web of shop'],
      ['type', 'clientcert'],
      ['stackInstance', ['shop']],
      ['last_stack_update', UPDATED],
      ['B-key', 1],
      ['app', 'shop'],
      ['cores', 4],
      ['environment', 'prod'],
      ['ip', '10.0.0.1'],
      ['level', 'debug'],
      ['ntp', ['c', 'a', 'b']],
      ['ports', ['80', '443']],
      ['proxy', 'q'],
      ['role', 'web'],
    ]);
  });

  test('takes only references from a provider for a secret key', () => {
    const hierarchy = 'secrets: { keys: ["_password$"], reference: "^secret/" }';
    const objects = [objectEntry('types/common/base.yaml', 'db_password: secret/db\n')];
    const { node } = resolveNode({ server: serverOf({}), clientcert: undefined }, scopeOf({ objects, hierarchy }));
    const outputs = { db_password: 'plain', root_password: ['plain'], web_password: 'secret/web', ip: '10.0.0.1' };
    const record = buildPlainRecord(node, factsOf(outputs));
    expect(record).toMatchObject({ db_password: 'secret/db', web_password: 'secret/web', ip: '10.0.0.1' });
    expect(record).not.toHaveProperty('root_password');
    expect(explainValue(node, factsOf(outputs), 'root_password')).toBeUndefined();
    expect(explainValue(node, factsOf(outputs), 'db_password')?.value).toBe('secret/db');
  });

  test('a computed key wins over layers', () => {
    const own = [{ type: 'clientcert', name: 'x', values: { stackInstance: ['forged'] }, origin: () => null }];
    const node = { ...NODE, own };
    expect(buildPlainRecord(node, factsOf())).toMatchObject({ stackInstance: ['shop'] });
    expect(explainValue(node, factsOf(), 'stackInstance')?.value).toEqual(['shop']);
  });
});

test('an output is in no file, but the values it hides are', () => {
  expect(explainRecord(NODE, factsOf({ ip: '10.0.0.1' })).ip).toEqual({
    value: '10.0.0.1',
    type: 'clientcert',
    name: 'web-1',
    file: null,
    line: null,
    merge: 'first',
    overrides: [{ value: 'unknown', type: 'environment', name: 'prod', file: 'types/environment/prod.yaml', line: 3 }],
  });
});

test('an unknown, a removed and a forbidden key have no value', () => {
  for (const key of ['no-such', 'tls', 'a/b', 'toString', '__proto__'])
    expect(explainValue(NODE, factsOf({ 'a/b': 'x' }), key)).toBeUndefined();
});

const OUTPUTS = fc.dictionary(
  fc.oneof(fc.constantFrom('ntp', 'level', 'ip', 'app', 'name', 'zone'), fc.string({ maxLength: 6 })),
  fc.jsonValue({ maxDepth: 2 }),
  { maxKeys: 6 },
) as fc.Arbitrary<JsonMap>;

test('records have scalars and lists of strings, as explained', () => {
  fc.assert(
    fc.property(OUTPUTS, (outputs) => {
      const facts = factsOf(outputs);
      const record = buildPlainRecord(NODE, facts);
      const explained = explainRecord(NODE, facts);
      expect(Object.keys(explained)).toEqual(Object.keys(record));
      for (const [key, value] of Object.entries(record)) {
        const items = typeof value === 'object' ? value : [String(value)];
        expect(items.every((item) => typeof item === 'string')).toBe(true);
        expect(explained[key]?.value).toEqual(value);
        expect(explainValue(NODE, facts, key)).toEqual(explained[key]);
      }
    }),
  );
});

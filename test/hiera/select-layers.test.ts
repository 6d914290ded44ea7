import { describe, expect, test } from 'vitest';
import { layerOf, propertiesLayer } from '../../src/hiera/layers.ts';
import { selectLayers } from '../../src/hiera/select-layers.ts';
import type { Properties } from '../../src/model/objects.ts';
import type { Problem } from '../../src/model/problem.ts';
import { node, objectEntry, type ScopeParts, scopeOf, serverOf } from './build.ts';

const OBJECTS = [
  'common/base',
  'environment/prod',
  'location/eu',
  'zone/eu-1',
  'zone/dmz',
  'shape/small',
  'shape/large',
  'role/web',
  'configuration/shop',
  'configuration/prod-eu',
  'location/nowhere',
].map((address) => objectEntry(`types/${address}.yaml`, `from: ${address}\n`));

const COMPOUND = `order:
  - common
  - environment
  - location
  - { type: configuration, name: "<<environment>>-<<location>>" }
  - zone
  - role
  - configuration
`;

function select(properties: Properties, parts: ScopeParts = {}) {
  const scope = scopeOf({ objects: OBJECTS, ...parts });
  const { layers, problems } = selectLayers(propertiesLayer(serverOf({ properties })), scope);
  return { layers: layers.map(({ type, name }) => `${type}/${name}`), problems, lookups: scope.lookups };
}

describe('layers that are selected', () => {
  test.each<[string, Properties, string[]]>([
    ['nothing but the root without properties', {}, ['common/base']],
    ['an empty string selects none', { environment: '', role: '', shape: 'small' }, ['common/base', 'shape/small']],
    [
      'a node of the tree without object has an empty layer',
      { environment: 'test', location: 'eu' },
      ['common/base', 'location/eu'],
    ],
    [
      'the types that select nothing are plain keys',
      { common: 'other', action: 'restart', clientcert: 'x' },
      ['common/base'],
    ],
  ])('%s', (_, properties, want) => {
    expect(select(properties)).toMatchObject({ layers: want, problems: [] });
  });

  test('the root needs no object', () => {
    expect(select({}, { tree: node('common', 'world') })).toMatchObject({ layers: [], problems: [] });
  });

  test('every look is made through the scope, also one in vain', () => {
    expect(select({ environment: 'test', shape: 'no-such' }).lookups).toEqual([
      'common/base',
      'environment/test',
      'shape/no-such',
    ]);
  });
});

describe('compound layers', () => {
  test.each<[string, Properties, string[]]>([
    ['are skipped where a selector is missing', { location: 'eu' }, ['common/base', 'location/eu']],
    [
      'are skipped where a selector is empty',
      { environment: 'prod', location: '' },
      ['common/base', 'environment/prod'],
    ],
    [
      'join with a plain level of the same type',
      { environment: 'prod', location: 'eu', configuration: 'shop' },
      ['common/base', 'environment/prod', 'location/eu', 'configuration/prod-eu', 'configuration/shop'],
    ],
  ])('%s', (_, properties, want) => {
    expect(select(properties, { hierarchy: COMPOUND })).toMatchObject({ layers: want, problems: [] });
  });

  test('may use a type that is no level of its own, by its text alone', () => {
    const hierarchy = 'order: [{ type: configuration, name: "<<environment>>-<<location>>" }]';
    const properties = { environment: 'prod', location: 'eu' };
    expect(select(properties, { hierarchy })).toMatchObject({ layers: ['configuration/prod-eu'], problems: [] });
    const elsewhere = { environment: 'no', location: 'such' };
    expect(select(elsewhere, { hierarchy })).toMatchObject({ layers: [], problems: [] });
  });

  test('a selector that looks like a placeholder is not filled in again', () => {
    const hierarchy = 'order: [{ type: configuration, name: "<<environment>>-<<location>>" }]';
    expect(select({ environment: '<<location>>', location: 'eu' }, { hierarchy }).lookups).toEqual([
      'configuration/<<location>>-eu',
    ]);
  });
});

describe('objects of another tenant', () => {
  const of = (tenant: string, address: string) => objectEntry(`types/${address}.yaml`, `port: 1\ntenant: ${tenant}\n`);
  const objects = [...OBJECTS, of('ta', 'role/a'), of('ta', 'configuration/test-eu')];

  test.each<[tenant: string, codes: string[]]>([
    ['ta', []],
    ['tb', ['foreign_layer']],
    ['', ['foreign_layer']],
  ])('a node of the tenant "%s" selects a role of the tenant ta', (tenant, codes) => {
    const { layers, problems } = select({ role: 'a' }, { objects, tenant });
    expect(problems.map(({ code }) => code)).toEqual(codes);
    expect(layers.includes('role/a')).toBe(codes.length === 0);
  });

  test('are reported at the last selector of a compound layer', () => {
    const properties = { environment: 'test', location: 'eu' };
    const [problem] = select(properties, { objects, hierarchy: COMPOUND, tenant: 'tb' }).problems;
    expect(problem).toMatchObject({ code: 'foreign_layer', file: 'stacks/templates/shop.yaml', line: 5 });
  });
});

describe('selectors that are wrong', () => {
  test.each<[string, Properties, Partial<Problem>]>([
    [
      'an unknown object',
      { shape: 'smal' },
      {
        code: 'unknown_object',
        line: 4,
        column: 16,
        message: 'there is no shape "smal"',
        missing: { type: 'shape', name: 'smal' },
      },
    ],
    [
      'what the root is called is no environment',
      { environment: 'base' },
      { code: 'unknown_object', missing: { type: 'environment', name: 'base' } },
    ],
    [
      'an unknown zone does not make the rest of the path wrong',
      { environment: 'prod', location: 'eu', zone: 'eu-3' },
      { code: 'unknown_object', line: 6, message: 'there is no zone "eu-3"' },
    ],
    [
      'a list',
      { role: ['web', 'db'] },
      {
        code: 'selector_not_string',
        line: 4,
        column: 15,
        message: '"role" selects one role by its name, and ["web","db"] is a list',
        hint: 'write one name, or "" to select none',
      },
    ],
    [
      'a path that is not in the tree, with a level left out',
      { environment: 'lab', zone: 'dmz' },
      {
        message: 'tree.yaml has no path environment "lab", zone "dmz"',
        hint: 'tree.yaml has zone "dmz" at "prod/us/dmz", "test/eu/dmz"',
      },
    ],
    [
      'an object that is no node',
      { environment: 'prod', location: 'nowhere' },
      { code: 'not_a_tree_path', hint: 'add location "nowhere" to tree.yaml' },
    ],
  ])('%s', (_, properties, want) => {
    const { problems } = select(properties);
    expect(problems).toMatchObject([{ severity: 'error', file: 'stacks/templates/shop.yaml', ...want }]);
  });

  test.each<[string, Properties]>([
    ['the whole path', { environment: 'prod', location: 'eu', zone: 'eu-1' }],
    ['the location left out', { environment: 'prod', zone: 'dmz' }],
    ['the environment left out', { location: 'eu', zone: 'dmz' }],
    ['a zone under several locations', { zone: 'dmz' }],
    ['that zone in the other environment', { environment: 'test', location: 'eu', zone: 'dmz' }],
    ['only an environment', { environment: 'lab' }],
  ])('a right path: %s', (_, properties) => {
    expect(select(properties).problems).toEqual([]);
  });
});

describe('selectors of a clientcert file', () => {
  function selectBy(text: string) {
    const clientcert = objectEntry('types/clientcert/lab-db.yaml', text);
    return selectLayers(layerOf(clientcert), scopeOf({ objects: OBJECTS }));
  }

  test('select like properties', () => {
    const { layers, problems } = selectBy('role: web\nenvironment: prod\nzone: null\nshape: ""\n');
    expect(layers.map(({ type, name }) => `${type}/${name}`)).toEqual(['common/base', 'environment/prod', 'role/web']);
    expect(problems).toEqual([]);
  });

  test.each<[string, Partial<Problem>]>([
    ['zone: 1', { message: '"zone" selects one zone by its name, and 1 is a number', hint: 'write "1"', column: 7 }],
    ['zone: true', { message: '"zone" selects one zone by its name, and true is a boolean', hint: 'write "true"' }],
    [
      'zone: eu-9',
      { code: 'unknown_object', file: 'types/clientcert/lab-db.yaml', pointer: '/zone', line: 1, column: 7 },
    ],
  ])('%s', (text, want) => {
    expect(selectBy(text).problems).toMatchObject([want]);
  });
});

test('a wrong object is left out, and its errors are told, not its warnings', () => {
  const place = { file: 'types/role/web.yaml', line: 1, column: 1, pointer: '', hint: null } as const;
  const error: Problem = { ...place, severity: 'error', code: 'wrong_type', message: 'a map' };
  const warning: Problem = { ...place, severity: 'warning', code: 'number_spelling', message: 'odd' };
  const wrong = objectEntry('types/role/web.yaml', 'a: b', [error, warning]);
  expect(select({ role: 'web' }, { objects: [wrong] })).toMatchObject({ layers: [], problems: [error] });
  const odd = objectEntry('types/role/web.yaml', 'a: b', [warning]);
  expect(select({ role: 'web' }, { objects: [odd] })).toMatchObject({ layers: ['role/web'], problems: [] });
  const unread = { ...scopeOf({}), object: () => ({ ...wrong, object: null }) };
  const selecting = propertiesLayer(serverOf({ properties: { role: 'web' } }));
  expect(selectLayers(selecting, unread).layers).toEqual([]);
});

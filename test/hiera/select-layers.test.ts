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

const ONE = 'order: [{ type: configuration, name: "<<environment>>-<<location>>" }]';

describe('selected layers', () => {
  test.each<[string, Properties, layers: string, hierarchy?: string]>([
    ['are the root without properties', {}, 'common/base'],
    ['are none by an empty string', { environment: '', role: '', shape: 'small' }, 'common/base shape/small'],
    ['need no object of a node', { environment: 'test', location: 'eu' }, 'common/base location/eu'],
    ['are none by plain keys', { common: 'other', action: 'restart', clientcert: 'x' }, 'common/base'],
    ['need every selector of a compound layer', { location: 'eu' }, 'common/base location/eu', COMPOUND],
    [
      'need a selector that is not empty',
      { environment: 'prod', location: '' },
      'common/base environment/prod',
      COMPOUND,
    ],
    [
      'combine a compound layer with a plain layer of its type',
      { environment: 'prod', location: 'eu', configuration: 'shop' },
      'common/base environment/prod location/eu configuration/prod-eu configuration/shop',
      COMPOUND,
    ],
    ['are of a type without a level', { environment: 'prod', location: 'eu' }, 'configuration/prod-eu', ONE],
    ['may have no object', { environment: 'no', location: 'such' }, '', ONE],
  ])('%s', (_, properties, layers, hierarchy) => {
    const found = select(properties, hierarchy === undefined ? {} : { hierarchy });
    expect({ ...found, layers: found.layers.join(' ') }).toMatchObject({ layers, problems: [] });
  });

  test('need no object of the root', () => {
    expect(select({}, { tree: node('common', 'world') })).toMatchObject({ layers: [], problems: [] });
  });

  test('are looked up through the scope, and placeholders are replaced once', () => {
    const { lookups } = select({ environment: 'test', shape: 'no-such' });
    expect(lookups).toEqual(['common/base', 'environment/test', 'shape/no-such']);
    const odd = select({ environment: '<<location>>', location: 'eu' }, { hierarchy: ONE });
    expect(odd.lookups).toEqual(['configuration/<<location>>-eu']);
  });
});

describe('objects of another tenant', () => {
  const of = (tenant: string, address: string) => objectEntry(`types/${address}.yaml`, `port: 1\ntenant: ${tenant}\n`);
  const objects = [...OBJECTS, of('ta', 'role/a'), of('ta', 'configuration/test-eu')];

  test.each<[tenant: string, codes: string[]]>([
    ['ta', []],
    ['tb', ['foreign_layer']],
    ['', ['foreign_layer']],
  ])('are refused for a node of the tenant "%s"', (tenant, codes) => {
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

/** Returns problems as `place code: message; hint`. */
function wordsOf(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ file, line, column, code, message, hint }) => {
    return `${file}:${line}:${column} ${code}: ${message}; ${hint}`;
  });
}

describe('wrong selectors', () => {
  test.each<[string, Properties, string]>([
    ['an unknown object', { shape: 'smal' }, '4:16 unknown_object: there is no shape "smal"; null'],
    [
      'the name of the root as an environment',
      { environment: 'base' },
      '4:22 unknown_object: there is no environment "base"; null',
    ],
    [
      'an unknown node in a valid path',
      { environment: 'prod', location: 'eu', zone: 'eu-3' },
      '6:15 unknown_object: there is no zone "eu-3"; null',
    ],
    [
      'a list',
      { role: ['web', 'db'] },
      '4:15 selector_not_string: "role" selects one role by its name, and ["web","db"] is a list; write one name, or "" to select none',
    ],
    [
      'a path that is not in the tree, with a level omitted',
      { environment: 'lab', zone: 'dmz' },
      '5:15 not_a_tree_path: tree.yaml has no path environment "lab", zone "dmz"; tree.yaml has zone "dmz" at "prod/us/dmz", "test/eu/dmz"',
    ],
    [
      'an object that is no node of the tree',
      { environment: 'prod', location: 'nowhere' },
      '5:19 not_a_tree_path: tree.yaml has no path environment "prod", location "nowhere"; add location "nowhere" to tree.yaml',
    ],
  ])('%s', (_, properties, words) => {
    expect(wordsOf(select(properties).problems)).toEqual([`stacks/templates/shop.yaml:${words}`]);
  });

  test('name the missing node', () => {
    expect(select({ shape: 'smal' }).problems).toMatchObject([{ missing: { type: 'shape', name: 'smal' } }]);
  });

  test.each<[string, Properties]>([
    ['the whole path', { environment: 'prod', location: 'eu', zone: 'eu-1' }],
    ['the location omitted', { environment: 'prod', zone: 'dmz' }],
    ['the environment omitted', { location: 'eu', zone: 'dmz' }],
    ['a zone under several locations', { zone: 'dmz' }],
    ['that zone in the other environment', { environment: 'test', location: 'eu', zone: 'dmz' }],
    ['only an environment', { environment: 'lab' }],
  ])('the path %s is valid', (_, properties) => {
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

  test.each([
    ['zone: 1', 'selector_not_string: "zone" selects one zone by its name, and 1 is a number; write "1"'],
    ['zone: true', 'selector_not_string: "zone" selects one zone by its name, and true is a boolean; write "true"'],
    ['zone: eu-9', 'unknown_object: there is no zone "eu-9"; null'],
  ])('%s', (text, words) => {
    expect(wordsOf(selectBy(text).problems)).toEqual([`types/clientcert/lab-db.yaml:1:7 ${words}`]);
  });
});

test('an invalid object is omitted, and its errors are reported without its warnings', () => {
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

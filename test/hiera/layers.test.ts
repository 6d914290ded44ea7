import { describe, expect, test } from 'vitest';
import { layerOf, outputsLayer, propertiesLayer } from '../../src/hiera/layers.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { recordKeyFault } from '../../src/model/keys.ts';
import { objectEntry, serverOf } from './build.ts';

const CHARACTERS = 'contains something other than letters, digits, "_", "-" and ":"';

describe('the layer of a file', () => {
  const entry = objectEntry('types/role/apps/web.yaml', 'description: d\ntenant: t\nport: 80\ntls: true\nold: null\n');

  test('has all its keys except those that describe the object', () => {
    const { type, name, values } = layerOf(entry);
    expect({ type, name, values: { ...values } }).toEqual({
      type: 'role',
      name: 'web',
      values: { port: 80, tls: true, old: null },
    });
  });

  test('is created once for an entry and shared by nodes', () => {
    expect(layerOf(entry)).toBe(layerOf(entry));
    expect(layerOf({ ...entry })).not.toBe(layerOf(entry));
  });

  test('omits values that a record cannot have', () => {
    const wrong = objectEntry('types/action/x.yaml', 'map: { a: 1 }\nmixed: [a, 1]\nnested: [[a]]\nright: [a]\n');
    expect({ ...layerOf(wrong).values }).toEqual({ right: ['a'] });
  });
});

test('the layer of properties is a clientcert with its place in the stack', () => {
  const server = serverOf({ properties: { app: 'shop', peers: ['a', 'b'], tenant: 't', description: 'd' } });
  const layer = propertiesLayer(server);
  expect(layer).toMatchObject({ type: 'clientcert', name: 'web-1' });
  expect({ ...layer.values }).toEqual({ app: 'shop', peers: ['a', 'b'] });
  expect(layer.origin('peers')).toEqual(server.originOf('peers'));
});

describe('the layer of provider outputs', () => {
  test.each<[string, JsonMap]>([
    ['null, which would remove configuration', { a: null }],
    ['a map', { a: { b: 'c' } }],
    ['a list with other items than strings', { a: ['b', 1] }],
    ['a field that describes an object', { name: 'x', type: 'x', description: 'x', tenant: 'x' }],
    ['a reserved key', { stackInstance: ['x'], last_stack_update: 'x', lookup_options: 'x', constructor: 'x' }],
    ['a key with a slash, a dot or a control character', { 'a/b': 'x', 'a.b': 'x', 'a\nb': 'x' }],
    ['ProxyTag', { ProxyTag: 'x' }],
    ['properties that control the server', { depends_on: 'db', configuration_only: ['port'] }],
    ['a selector', { environment: 'x', location: 'x', zone: 'x', shape: 'x', role: 'x', configuration: 'x' }],
  ])('omits %s', (_, outputs) => {
    expect({ ...outputsLayer('web-1', { ...outputs, ip: '10.0.0.1' }).values }).toEqual({ ip: '10.0.0.1' });
  });
});

test.each([
  [undefined, ['environment', 'with-dash_and:colon', 'profile::base::ntp', 'stackinstance']],
  [CHARACTERS, ['with blank', 'größe', 'db_passwor\u200bd', 'a\tb', 'a\u007fb']],
  ['is empty', ['']],
  ['is a reserved word', ['lookup_options', 'stackInstance', '__proto__']],
  ['contains "/" or "."', ['a/b', 'a.b']],
])('the fault "%s" is found for the keys %j', (fault, keys) => {
  expect(keys.map(recordKeyFault)).toEqual(keys.map(() => fault));
});

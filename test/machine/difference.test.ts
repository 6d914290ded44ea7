import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { differingProperties, isSameSpec, needsNoAction, provisionedPart } from '../../src/machine/existence.ts';
import type { Spec } from '../../src/model/spec.ts';

const SPEC: Spec = {
  kind: 'Platform::Server',
  properties: { name: 'web-1', zone: 'dmz', peers: ['web-1', 'web-2'], description: 'Front' },
  layers: { shape: { cpus: 2 } },
  configurationOnly: ['peers'],
  dependsOn: ['cache'],
  lists: ['web-2'],
};

function spec(changes: Partial<Spec>): Spec {
  return { ...SPEC, ...changes };
}

function properties(changes: Spec['properties']): Spec {
  return spec({ properties: { ...SPEC.properties, ...changes } });
}

function without(property: string): Spec {
  return spec({
    properties: Object.fromEntries(Object.entries(SPEC.properties).filter(([name]) => name !== property)),
  });
}

test('needsNoAction compares kind, properties and provisioning layers', () => {
  expect(provisionedPart(SPEC)).toEqual({
    kind: 'Platform::Server',
    properties: { name: 'web-1', zone: 'dmz' },
    layers: { shape: { cpus: 2 } },
  });
});

test('needsNoAction accepts any property name', () => {
  const own = Object.assign(Object.create(null), { name: 'a', ['__proto__']: 'x', constructor: 'y' });
  const part = provisionedPart(spec({ properties: own }));
  expect(Object.keys(part.properties as object).sort()).toEqual(['__proto__', 'constructor', 'name']);
});

describe('a change needs an action', () => {
  test.each<[string, Spec]>([
    ['a property with another value', properties({ zone: 'internal' })],
    [
      'a list in another order',
      spec({ configurationOnly: [], properties: { ...SPEC.properties, peers: ['web-2', 'web-1'] } }),
    ],
    ['an added property', properties({ port: '80' })],
    ['a removed property', without('zone')],
    ['a text in place of a list', properties({ zone: ['dmz'] })],
    ['a provisioning layer with another content', spec({ layers: { shape: { cpus: 4 } } })],
    ['an added provisioning layer', spec({ layers: { shape: { cpus: 2 }, role: { port: 80 } } })],
    ['a removed provisioning layer', spec({ layers: {} })],
    ['another kind', spec({ kind: 'Platform::Router' })],
    ['another server name', properties({ name: 'web-9' })],
  ])('%s', (_what, wanted) => {
    expect(needsNoAction(wanted, SPEC)).toBe(false);
    expect(isSameSpec(wanted, SPEC)).toBe(false);
  });
});

describe('a change needs no action, but is recorded', () => {
  test.each<[string, Spec]>([
    ['a configuration-only property', properties({ peers: ['web-1', 'web-2', 'web-3'] })],
    ['a removed configuration-only property', without('peers')],
    ['the description', properties({ description: 'Back' })],
    ['the dependencies', spec({ dependsOn: [] })],
    ['the listed servers', spec({ lists: [] })],
  ])('%s', (_what, wanted) => {
    expect(needsNoAction(wanted, SPEC)).toBe(true);
    expect(isSameSpec(wanted, SPEC)).toBe(false);
  });
});

describe('the wanted spec decides which properties are for configuration only', () => {
  const changed = { ...SPEC.properties, peers: ['web-7'] };

  test('a property that becomes configuration-only needs no action', () => {
    expect(needsNoAction(SPEC, spec({ configurationOnly: [], properties: changed }))).toBe(true);
  });

  test('a property that ceases to be configuration-only needs an action if its value differs', () => {
    expect(needsNoAction(spec({ configurationOnly: [] }), spec({ properties: changed }))).toBe(false);
    expect(needsNoAction(spec({ configurationOnly: [] }), SPEC)).toBe(true);
  });
});

test('a spec equals itself', () => {
  const names = fc.constantFrom('name', 'zone', 'peers', 'description', 'constructor');
  const value = fc.oneof(fc.constantFrom('a', 'b', ''), fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }));
  const anySpec = fc.record({
    kind: fc.constantFrom('Platform::Server', 'Other'),
    properties: fc.dictionary(names, value),
    layers: fc.dictionary(fc.constantFrom('shape', 'role'), fc.dictionary(names, fc.integer({ min: 0, max: 1 }))),
    configurationOnly: fc.subarray(['peers', 'zone']),
    dependsOn: fc.subarray(['cache', 'db']),
    lists: fc.subarray(['web-1']),
  });
  fc.assert(
    fc.property(anySpec, anySpec, (a, b) => {
      const copy: Spec = JSON.parse(JSON.stringify(a));
      expect(needsNoAction(a, copy)).toBe(true);
      expect(isSameSpec(a, copy)).toBe(true);
      if (isSameSpec(a, b)) expect(needsNoAction(a, b)).toBe(true);
    }),
  );
});

describe('differingProperties finds', () => {
  test.each<[string, Record<string, string | readonly string[] | null>, readonly string[]]>([
    ['nothing in equal values', { zone: 'dmz', peers: ['web-1', 'web-2'] }, []],
    ['another text and another list', { zone: 'internal', peers: ['web-1'], name: 'web-1' }, ['peers', 'zone']],
    ['nothing in unobserved properties', {}, []],
    ['nothing in unwanted properties', { port: '80', constructor: 'x' }, []],
    ['nothing in missing properties', { zone: null }, ['zone']],
  ])('%s', (_what, observed, differing) => {
    expect(differingProperties(SPEC, observed)).toEqual(differing);
  });
});

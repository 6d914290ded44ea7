import { expect, test } from 'vitest';
import { DEFAULT_HIERARCHY } from '../../src/catalog/hierarchy.ts';
import { parseEntry } from '../../src/catalog/parse-entry.ts';
import { isValidEntry } from '../../src/model/entry.ts';

const FINGERPRINT = 'AB'.repeat(32);

test.each([
  [
    'types/zone/dmz.yaml',
    'ntp: [a, b]\nmtu: 1500\ntrusted: false\nold_key: null\n',
    { name: 'dmz', type: 'zone', description: '', ntp: ['a', 'b'], mtu: 1500, trusted: false, old_key: null },
  ],
  [
    'types/zone/dmz.yaml',
    'description: outside\ntype: zone\nname: dmz\ntenant: shop\n',
    { name: 'dmz', type: 'zone', description: 'outside', tenant: 'shop' },
  ],
  [
    'types/action/restart.yaml',
    'steps: [{ run: [1, {}] }]\nenvironment: any\nx.y/z: 1\n',
    {
      name: 'restart',
      type: 'action',
      description: '',
      steps: [{ run: [1, {}] }],
      environment: 'any',
      'x.y/z': 1,
    },
  ],
  [
    'types/clientcert/lab-1.yaml',
    'environment: lab\nzone: ""\nconstructor_: x\n',
    { name: 'lab-1', type: 'clientcert', description: '', environment: 'lab', zone: '', constructor_: 'x' },
  ],
  [
    'clients/0A1B.yaml',
    'role: proxy\n',
    { name: '0A1B', type: 'client', description: '', role: 'proxy', fingerprint: '', serial: '0A1B', tenant: '' },
  ],
  [
    'clients/0A1B.yaml',
    `role: administrator\nname: 0a1b\ntype: client\nserial: "0a:1b"\nfingerprint: ${FINGERPRINT.toLowerCase()}\ntags: [a]\ntenant: t\ndescription: d`,
    {
      name: '0A1B',
      type: 'client',
      description: 'd',
      role: 'administrator',
      fingerprint: Array.from({ length: 32 }, () => 'AB').join(':'),
      serial: '0A1B',
      tenant: 't',
      tags: ['a'],
    },
  ],
  [
    'clients/0A1B.yaml',
    'role: proxy\nnode: web-1\nreads: site\nwrites: none\n',
    {
      name: '0A1B',
      type: 'client',
      description: '',
      role: 'proxy',
      fingerprint: '',
      serial: '0A1B',
      tenant: '',
      node: 'web-1',
      reads: 'site',
      writes: 'none',
    },
  ],
  [
    'stacks/templates/shop.yaml',
    'resources: {}\n',
    { name: 'shop', type: 'stack-template', description: '', parameters: {}, resources: {} },
  ],
  [
    'stacks/instances/eu.yaml',
    'stackTemplate: shop\n',
    {
      name: 'eu',
      type: 'stack-instance',
      description: '',
      stackTemplate: 'shop',
      stackTemplateAdditions: {},
      stackTemplateSubstractions: {},
      parameters: {},
    },
  ],
  [
    'tree.yaml',
    'name: global\ntype: common\nchildren:\n- { name: prod, type: environment, description: d, children: [] }\n',
    {
      name: 'global',
      type: 'common',
      description: '',
      children: [{ name: 'prod', type: 'environment', description: 'd', children: [] }],
    },
  ],
  [
    'hierarchy.yaml',
    'merge: { ntp: unique, dns: first }\n',
    { ...DEFAULT_HIERARCHY, merge: { ntp: 'unique', dns: 'first' } },
  ],
])('%s: %j', (path, text, object) => {
  const entry = parseEntry(path, 'oid', text);
  expect(entry.problems).toEqual([]);
  expect(entry.object).toEqual(object);
  expect(isValidEntry(entry)).toBe(true);
  expect({ path: entry.path, oid: entry.oid, text: entry.text }).toEqual({ path, oid: 'oid', text });
});

test('parseEntry returns maps with keys of users without a prototype', () => {
  const { object } = parseEntry('stacks/templates/a.yaml', 'o', 'parameters: { constructor: x }\nresources: {}\n');
  expect(object).toMatchObject({ parameters: { constructor: 'x' } });
  expect(parseEntry('types/zone/a.yaml', 'o', 'toString: x').object).toMatchObject({ toString: 'x' });
  for (const value of [object, parseEntry('types/zone/a.yaml', 'o', 'a: b').object]) {
    const map = value !== null && typeof value === 'object' && 'parameters' in value ? value.parameters : value;
    expect(Object.getPrototypeOf(map)).toBe(null);
  }
});

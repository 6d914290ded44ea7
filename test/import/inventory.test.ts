// Tests the rule by which values of sources become flat keys, and what is never imported.
import { describe, expect, it, test } from 'vitest';
import { parseForeign } from '../../src/import/foreign-yaml.ts';
import { Inventory } from '../../src/import/inventory.ts';
import { readHiera } from '../../src/import/read-hiera.ts';
import { readNodes } from '../../src/import/read-tables.ts';
import { inventoryOf, leftOutOf, valuesOf } from './imported.ts';

/** Returns the keys and faults of a server whose variables are the keys of a YAML text. */
function flat(text: string, file = 'vars.yml') {
  const root = parseForeign(file, text);
  const variables = root.kind === 'map' ? [...root.entries].map(([key, value]) => [key, value, true] as const) : [];
  const inventory = inventoryOf((one) => one.add({ name: 'a', file, line: 1, variables, facets: [] }));
  const fault = root.kind === 'scalar' ? root.fault : undefined;
  return {
    values: valuesOf(inventory, 'a'),
    leftOut: leftOutOf(inventory).map((line) => line.slice(file.length + 1)),
    fault,
  };
}

test.each<[what: string, text: string, values: unknown]>([
  ['texts, numbers and booleans', 'a: x\nb: 1.5\nc: true\n', { a: 'x', b: 1.5, c: true }],
  ['maps as a key for each entry', 'a: { b: 1, c: { d: x } }\n', { 'a::b': 1, 'a::c::d': 'x' }],
  [
    'names of classes',
    'profile::base::ntp: { a::b: 1 }\n',
    { 'profile::base::ntp': undefined, 'profile::base::ntp::a::b': 1 },
  ],
  ['other maps as JSON', 'a: { /etc: 1, b: [x] }\nc: {}\n', { a: '{"/etc":1,"b":["x"]}', c: '{}' }],
  ['lists of texts', 'a: [x, y]\nb: []\n', { a: ['x', 'y'], b: [] }],
  [
    'items that are no texts as JSON',
    'a: [80, true, x]\nb: [{ z: 1, y: 2 }, [q]]\n',
    { a: ['80', 'true', 'x'], b: ['{"y":2,"z":1}', '["q"]'] },
  ],
  [
    'aliases and merge keys',
    'a: &a { x: 1, y: 2 }\nb: { <<: *a, y: 3 }\nc: { <<: [*a, { z: 4 }] }\n',
    { 'a::x': 1, 'a::y': 2, 'b::x': 1, 'b::y': 3, 'c::x': 1, 'c::y': 2, 'c::z': 4 },
  ],
  ['brackets that close at the first column', 'a: [\n  x,\n  y\n]\nb: 1\n', { a: ['x', 'y'], b: 1 }],
  ['the last of two equal keys', 'a: 1\na: 2\n', { a: 2 }],
  ['its own name', 'name: a\n', {}],
  ['a description', 'description: The first\n', { description: 'The first' }],
])('Inventory takes %s', (_what, text, values) => {
  const found = flat(text);
  expect(found).toEqual({ values: JSON.parse(JSON.stringify(values)), leftOut: [], fault: undefined });
});

const SECRET = 'it looks like a secret: keep it in a secret store, and write a reference';

test.each<[what: string, text: string, leftOut: string]>([
  ['null', 'a: ~\n', '1 a: it is null, and a record has no such value'],
  ['null in a map', 'a: { b: }\n', '1 a::b: it is null, and a record has no such value'],
  ['numbers that are not kept', 'a: 12345678901234567890\n', '1 a: a record cannot contain this number'],
  ['numbers with an exponent that is too large', 'a: -1.5e+400\n', '1 a: a record cannot contain this number'],
  ['a key with a dot', 'a.b: 1\n', '1 a.b: the key contains "/" or "."'],
  ['a key of other letters', 'ä: 1\n', '1 ä: the key contains something other than letters, digits, "_", "-" and ":"'],
  ['a tag of Ruby', 'a: !ruby/sym x\n', '1 a: the tag !ruby/sym is not supported'],
  ['a reserved key', 'stackInstance: 1\n', '1 stackInstance: the key is a reserved word'],
  ['a field of objects', 'type: vm\n', '1 type: "type" is a field of every object, and not a key: rename it'],
  ['another name', 'name: b\n', '1 name: "name" is a field of every object, and not a key: rename it'],
  ['a description that is no text', 'description: 5\n', '1 description: a description is a text'],
  [
    'how a server is handled',
    'depends_on: b\n',
    '1 depends_on: "depends_on" says how a server is handled, and is not a key: rename it',
  ],
  ['two that make one key', 'a::b: 1\na: { b: 2 }\n', '2 a::b: vars.yml:1 makes the same key'],
  ['long texts', `a: ${'x'.repeat(70_000)}\n`, '1 a: it has 70000 characters, and a text may have 65536'],
  ['texts with NUL', 'a: "\\0"\n', '1 a: it contains a character that a file cannot contain'],
  ['an alias of nothing', 'a: *b\n', '1 a: the alias *b names nothing before it'],
  ['passwords', 'db::password: x\n', `1 db::password: ${SECRET}`],
  ['tokens in maps', 'a: { API_TOKEN: x }\n', `1 a::API_TOKEN: ${SECRET}`],
  ['secrets in items', 'a: [{ name: x, passwd: y }]\n', `1 a: ${SECRET}`],
  ['encrypted values', 'a: ENC[PKCS7,MIIB]\n', `1 a: ${SECRET}`],
  ['keys', 'a: |\n  -----BEGIN RSA PRIVATE KEY-----\n', `1 a: ${SECRET}`],
  ['hashes of passwords', 'a: $6$rounds$abc\n', `1 a: ${SECRET}`],
  ['addresses with a password', 'a: https://me:pw@host/\n', `1 a: ${SECRET}`],
])('Inventory lists %s', (_what, text, leftOut) => {
  expect(flat(text).leftOut).toEqual([leftOut]);
});

describe('YAML that no operator wrote', () => {
  const BOMB = Array.from({ length: 12 }, (_, index) => {
    const below = Array.from({ length: 10 }, (_item, at) => `k${at}: *a${index}`).join(', ');
    return `a${index + 1}: &a${index + 1} { ${below} }`;
  });
  const MAPS = `a0: &a0 { x: "%{facts.a} {{ a }}" }\n${BOMB.join('\n')}\n`;

  test('is read as far as a limit by each reader', () => {
    expect(flat(MAPS).leftOut).toContain('13 a12: it is too large');
    const hiera = `version: 5\nhierarchy: [{ name: a, path: "%{trusted.certname}.yaml" }]\n`;
    const files = new Map([
      ['hiera.yaml', hiera],
      ['data/a.yaml', `lookup_options: { "^a": { merge: deep } }\n${MAPS}`],
    ]);
    expect(leftOutOf(inventoryOf((one) => readHiera('hiera.yaml', files, one, [])))).toContain(
      'data/a.yaml:14 a12: it is too large',
    );
    expect(() => readNodes('n.yaml', MAPS)).toThrow('n.yaml:1: it is too large');
  });

  test('is refused where maps refer to themselves, are too deep, or are no YAML', () => {
    expect(flat('a: &a { b: *a }\n').leftOut).toEqual(['1 a::b: the alias *a names nothing before it']);
    expect(flat(`a: ${'['.repeat(100)}\n`).fault).toMatch(/^it is not YAML: /);
    expect(flat('a: b: c\n').fault).toMatch(/^it is not YAML: /);
    expect(flat('').values).toEqual({});
  });

  test('has keys that reach no prototype', () => {
    expect(flat('__proto__: { polluted: 1 }\na: { "x y": 1, __proto__: 2 }\n')).toMatchObject({
      values: { a: '{"__proto__":2,"x y":1}' },
      leftOut: ['1 __proto__: the key is a reserved word'],
    });
    expect(({} as Record<string, unknown>).polluted).toBe(undefined);
  });
});

describe('servers', () => {
  const add = (inventory: Inventory, name: string, text = ''): void => {
    const root = parseForeign('f', text);
    const variables = root.kind === 'map' ? [...root.entries].map(([key, value]) => [key, value, true] as const) : [];
    inventory.add({ name, variables, facets: [], file: 'f', line: 7 });
  };

  it('keep the last value of several sources', () => {
    const inventory = new Inventory();
    add(inventory, 'a', 'x: 1\ny: 1\n');
    add(inventory, 'a', 'y: 2\n');
    expect(valuesOf(inventory, 'a')).toEqual({ x: 1, y: 2 });
  });

  it('have names that differ in more than case, and are names', () => {
    const inventory = new Inventory();
    for (const name of ['web', 'WEB', 'a b', 'all', '']) add(inventory, name);
    expect([...inventory.nodes.keys()]).toEqual(['web']);
    expect(leftOutOf(inventory)).toEqual([
      'f:7 : the server "WEB" is missing: its name differs from "web" in case only',
      'f:7 : the server "a b" is missing: its name contains something other than letters, digits, ".", "_" and "-"',
      'f:7 : the server "all" is missing: its name is kept for the list of all records',
      'f:7 : the server "" is missing: its name is empty',
    ]);
  });
});

// Tests the reader of Hiera 5 trees: levels, nodes, lookup, merging and interpolation.
import { describe, expect, it, test } from 'vitest';
import { readHiera } from '../../src/import/read-hiera.ts';
import { readNodes } from '../../src/import/read-tables.ts';
import { importOf, inventoryOf, leftOutOf, valuesOf } from './imported.ts';

const HIERA = `version: 5
defaults: { datadir: data, data_hash: yaml_data }
hierarchy:
  - { name: Node, path: "nodes/%{trusted.certname}.yaml" }
  - { name: Role, paths: ["env/%{environment}/%{facts.role}.yaml", "role/%{facts.role}.yaml"] }
  - { name: System, path: "os/%{facts.os.family}.yaml" }
  - { name: Common, path: common.yaml }
`;
const NODES = `web-1.example.com: { environment: production, facts: { role: web, os: { family: Debian } } }
web-2.example.com: { environment: production, facts: { role: web, os: { family: Debian } } }
db-1.example.com: { environment: staging, role: db, os: { family: RedHat } }
`;

function read(data: Readonly<Record<string, string>>, { hiera = HIERA, nodes = NODES } = {}) {
  const files = new Map([
    ['repo/hiera.yaml', hiera],
    ...Object.entries(data).map(([path, text]) => [`repo/data/${path}`, text] as const),
  ]);
  return inventoryOf((inventory) =>
    readHiera('repo/hiera.yaml', files, inventory, nodes === '' ? [] : readNodes('nodes.yaml', nodes)),
  );
}

describe('levels', () => {
  it('are read from specific to general, and the first value counts', () => {
    const inventory = read({
      'common.yaml': 'ntp: one\nlevel: common\nuser: root\n',
      'os/Debian.yaml': 'level: os\n',
      'role/web.yaml': 'level: role\nport: 80\n',
      'env/production/web.yaml': 'level: env\n',
      'nodes/web-2.example.com.yaml': 'level: node\n',
    });
    expect(valuesOf(inventory, 'web-1.example.com')).toEqual({ ntp: 'one', level: 'env', user: 'root', port: 80 });
    expect(valuesOf(inventory, 'web-2.example.com')).toMatchObject({ level: 'node' });
    expect(valuesOf(inventory, 'db-1.example.com')).toEqual({ ntp: 'one', level: 'common', user: 'root' });
    expect(inventory.nodes.get('web-2.example.com')?.values.get('level')).toMatchObject({
      file: 'repo/data/nodes/web-2.example.com.yaml',
      line: 1,
      isOwn: true,
    });
    expect(leftOutOf(inventory)).toEqual([]);
  });

  it('may have globs, and repeat for each item of a fact', () => {
    const hiera = `version: 5
hierarchy:
  - { name: Services, mapped_paths: [services, one, "service/%{one}.yaml"], datadir: data }
  - { name: More, glob: "more/*.{yaml,yml}", datadir: data }
  - { name: Deep, globs: ["deep/**/x?.yaml", "deep/**"], datadir: data }
`;
    const nodes = '- { name: a, facts: { services: [mail, web] } }\n- b\n';
    const data = {
      'service/mail.yaml': 'port: 25\nmail: true\n',
      'service/web.yaml': 'port: 80\n',
      'more/1.yaml': 'one: 1\n',
      'more/2.yml': 'two: 2\none: 0\n',
      'more/3.txt': 'three: 3\n',
      'deep/a/b/x1.yaml': 'deep: yes\n',
      'deep/a/b/y1.yaml': 'nested: 1\n',
    };
    const inventory = read(data, { hiera, nodes });
    expect(valuesOf(inventory, 'a')).toEqual({ port: 25, mail: true, one: 1, two: 2, deep: true });
    expect(valuesOf(inventory, 'b')).toEqual({ one: 1, two: 2, deep: true });
  });

  it('with missing facts or other backends are listed', () => {
    const hiera = HIERA.replace(
      '  - { name: Common',
      '  - { name: Vault, lookup_key: hiera_vault }\n  - { name: Common',
    );
    expect(leftOutOf(read({ 'common.yaml': 'a: 1\n' }, { hiera, nodes: '- lonely\n' }))).toEqual([
      'repo/hiera.yaml:5 Role: nodes do not get the data of this level: it needs the fact environment, which is not given',
      'repo/hiera.yaml:5 Role: nodes do not get the data of this level: it needs the fact facts.role, which is not given',
      'repo/hiera.yaml:6 System: nodes do not get the data of this level: it needs the fact facts.os.family, which is not given',
      'repo/hiera.yaml:7 Vault: the level is read by hiera_vault, and only files of YAML and JSON are read',
    ]);
  });

  it('of another version of Hiera are refused', () => {
    expect(() => read({}, { hiera: ':backends: [yaml]\n' })).toThrow(
      'repo/hiera.yaml is of version none: only Hiera 5 is read',
    );
  });
});

describe('nodes', () => {
  it('are those with their own file, whose path gives facts, if none are given', () => {
    const hiera = `version: 5
hierarchy:
  - { name: Node, path: "%{environment}/nodes/%{facts.networking.fqdn}.yaml", datadir: data }
  - { name: Environment, path: "%{::environment}/common.yaml", datadir: data }
  - { name: Domain, path: "%{facts.networking.domain}.yaml", datadir: data }
`;
    const data = {
      'production/nodes/a.example.com.yaml': 'own: a\n',
      'staging/nodes/b.example.com.yaml': 'own: b\n',
      'staging/common.yaml': 'debug: true\n',
      'example.com.yaml': 'resolver: 192.0.2.53\n',
    };
    const inventory = read(data, { hiera, nodes: '' });
    expect([...inventory.nodes.keys()]).toEqual(['a.example.com', 'b.example.com']);
    expect(valuesOf(inventory, 'b.example.com')).toEqual({ own: 'b', debug: true, resolver: '192.0.2.53' });
    expect(() => read({ 'common.yaml': 'a: 1\n' }, { nodes: '' })).toThrow('name them with --nodes');
  });
});

describe('values', () => {
  const web = (data: Readonly<Record<string, string>>) => {
    const inventory = read(data);
    return { values: valuesOf(inventory, 'web-1.example.com'), leftOut: leftOutOf(inventory) };
  };

  test.each<[what: string, written: string, value: unknown]>([
    ['a fact', '"x %{facts.role} %{::environment}"', 'x web production'],
    ['the name', '"%{trusted.certname} %{facts.networking.hostname}"', 'web-1.example.com web-1'],
    ['another key', "\"%{lookup('other')}/%{hiera('number')}\"", 'text/5'],
    ['an entry of another key', "\"%{lookup('map.below')} %{lookup('list.1')}\"", 'deep two'],
    ['a whole value', '"%{alias(\'list\')}"', ['one', 'two']],
    ['a percent sign', '"%{literal(\'%\')}{facts.role}"', '%{facts.role}'],
    ['nothing', '"a%{}b"', 'ab'],
    ['the scope', '"%{scope(\'facts.role\')}"', 'web'],
    ['keys of maps', '{ "is-%{facts.role}": "%{facts.role}" }', undefined],
    ['an item of a list', '["%{facts.role}", b]', ['web', 'b']],
  ])('interpolate %s', (_what, written, value) => {
    const common = `key: ${written}\nother: text\nnumber: 5\nmap: { below: deep }\nlist: [one, two]\n`;
    const { values } = web({ 'common.yaml': common });
    expect(values.key).toEqual(value);
    if (value === undefined) expect(values['key::is-web']).toBe('web');
  });

  test.each<[what: string, written: string, reason: string]>([
    ['a missing fact', '"%{facts.rack}"', 'it needs the fact facts.rack, which is not given'],
    ['a missing key', '"%{lookup(\'nowhere\')}"', 'it needs the key "nowhere", which has no text'],
    ['a key that has a list', '"%{lookup(\'list\')}"', 'it needs the key "list", which has no text'],
    ['itself', '"%{lookup(\'key\')}"', 'it refers to itself'],
    ['an alias of nothing', '"%{alias(\'nowhere\')}"', 'there is no key "nowhere"'],
  ])('are listed if they need %s', (_what, written, reason) => {
    const { values, leftOut } = web({ 'role/web.yaml': `a: 1\nkey: ${written}\nlist: [one]\n` });
    expect(values).toEqual({ a: 1, list: ['one'] });
    expect(leftOut).toEqual([`repo/data/role/web.yaml:2 key: ${reason}`]);
  });

  test.each<[rule: string, options: string, value: unknown]>([
    ['unique', 'packages: { merge: unique }', { packages: ['curl', 'vim'] }],
    ['a pattern', '"^pack": { merge: { strategy: unique } }', { packages: ['curl', 'vim'] }],
    ['first', 'packages: { merge: first }', { packages: ['curl'] }],
    ['hash', 'users: { merge: hash }', { 'users::ada::shell': 'zsh', 'users::bob::uid': 2 }],
    [
      'deep',
      'users: { merge: deep }',
      { 'users::ada::shell': 'zsh', 'users::ada::uid': 1, 'users::ada::groups': ['wheel', 'adm'] },
    ],
  ])('are merged by lookup_options: %s', (_rule, options, value) => {
    const { values } = web({
      'role/web.yaml': 'packages: [curl]\nusers: { ada: { shell: zsh, groups: [adm, wheel] } }\n',
      'common.yaml': `lookup_options: { ${options} }\npackages: [vim, curl]\nusers: { ada: { uid: 1, groups: [wheel] }, bob: { uid: 2 } }\n`,
    });
    expect(values).toMatchObject(value as object);
    expect(Object.keys(values)).not.toContain('lookup_options');
  });

  test.each([
    ['a: { merge: { strategy: deep, knockout_prefix: "--" } }', 'lookup_options merge it with knockout_prefix'],
    ['a: { merge: hash }', 'lookup_options merge it by "hash", and it does not fit'],
    ['a: { merge: deep, convert_to: Array }', 'lookup_options have convert_to for it, which only Puppet applies'],
    ['a: { convert_to: Sensitive }', 'lookup_options have convert_to for it, which only Puppet applies'],
    [
      '"^(b+)+$": { merge: hash }, "b": { merge: hash }, "^a$": { merge: odd }',
      'lookup_options merge it by "odd", and it does not fit',
    ],
    ['"^(?!b)": { merge: hash }', 'lookup_options have the pattern "^(?!b)", which only Ruby reads'],
  ])('that cannot be merged are listed: %s', (options, reason) => {
    const { values, leftOut } = web({ 'common.yaml': `lookup_options: { ${options} }\na: 1\n` });
    expect(values).toEqual({});
    expect(leftOut).toEqual([`repo/data/common.yaml:2 a: ${reason}`]);
  });
});

it('readHiera gives every node its record with few layers', () => {
  const files = new Map([
    ['repo/hiera.yaml', HIERA],
    ['repo/data/common.yaml', 'ntp: [one, two]\ndebug: false\n'],
    ['repo/data/role/web.yaml', 'port: 80\nworkers: 4\n'],
    ['repo/data/role/db.yaml', 'port: 5432\n'],
    ['repo/data/nodes/web-2.example.com.yaml', 'workers: 8\n'],
  ]);
  const {
    files: written,
    proof,
    problems,
  } = importOf((inventory) => readHiera('repo/hiera.yaml', files, inventory, readNodes('nodes.yaml', NODES)));
  expect({ problems, differences: proof.differences, nodes: proof.nodes }).toEqual({
    problems: [],
    differences: [],
    nodes: 3,
  });
  expect(
    written['stacks/templates/web.yaml'],
  ).toBe(`# yaml-language-server: $schema=../../schemas/stack-template.schema.json
parameters:
  count: ""
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: <<count>>
      resource_def:
        properties:
          name: web-<<index>>.example.com
          environment: production
          role: web
`);
});

// As `YAML.load` of Ruby 3.1 printed them.
test.each<[text: string, value: string | number | boolean]>([
  ['12:30', 45_000],
  ['02:30', 9_000],
  ['1:30:00', 5_400],
  ['-1:30', -1_800],
  ['12:60', '12:60'],
  ['1:30.5', 5_430],
  ['190:20:30.15', 685_230.15],
  ['52:54:00:12:34:56', '52:54:00:12:34:56'],
  ['00:11:22:33:44:55', '00:11:22:33:44:55'],
  ['1,000', 1_000],
  ['1__0', '1__0'],
  ['0644', 420],
  ['089', '089'],
  ['0o17', '0o17'],
  ['0x1F', 31],
  ['0x', '0x'],
  ['1e3', '1e3'],
  ['1.', 1],
  ['1_0.5', 10.5],
  ['1.5e3', '1.5e3'],
  ['1.2.3', '1.2.3'],
  ['tRue', true],
  ['y', 'y'],
  ['On', true],
])('readHiera reads %s like Ruby', (text, value) => {
  expect(valuesOf(read({ 'nodes/a.yaml': `x: ${text}\n` }, { nodes: '' }), 'a')).toEqual({ x: value });
});

test('readHiera lists an unquoted date and an unquoted symbol', () => {
  const inventory = read({ 'nodes/a.yaml': 'x: 2026-01-01\ny: :word\nz: !!str 0644\n' }, { nodes: '' });
  expect(valuesOf(inventory, 'a')).toEqual({ z: '0644' });
  expect(leftOutOf(inventory).filter((line) => line.includes('nodes/a.yaml'))).toEqual([
    'repo/data/nodes/a.yaml:1 x: it is a date without quotes, which Puppet refuses',
    'repo/data/nodes/a.yaml:2 y: it is a symbol of Ruby: write a text',
  ]);
});

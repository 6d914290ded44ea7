// Tests the readers of tables, of Terraform states, and of the nodes for a Hiera tree.
import { describe, expect, it, test } from 'vitest';
import { readCsv, readNodes, readTerraform } from '../../src/import/read-tables.ts';
import { importOf, inventoryOf, leftOutOf, valuesOf } from './imported.ts';

describe('a table', () => {
  it('has one server per row and one key per column', () => {
    const text = '\uFEFFhostname,Location,cpus,note\r\nweb-1,fra,4,"one, ""two""\nthree"\r\nweb-2,fra,,\r\n\r\n';
    const inventory = inventoryOf((one) => readCsv('t.csv', text, one));
    expect(valuesOf(inventory, 'web-1')).toEqual({ Location: 'fra', cpus: '4', note: 'one, "two"\nthree' });
    expect(valuesOf(inventory, 'web-2')).toEqual({ Location: 'fra' });
    expect(inventory.nodes.get('web-2')?.values.get('Location')).toMatchObject({ file: 't.csv', line: 4 });
  });

  test.each([
    'name;a\nx;1',
    'name\ta\nx\t1',
    '"name";"a";"b, c"\n"x";"1";""',
    'sep=;\r\nname;a, b;a\r\nx;;1\r\n',
    '\uFEFF"sep=|"\nname|a\nx|1',
  ])('may have other separators, quoted names, and the separator line of Excel: %j', (text) => {
    const inventory = inventoryOf((one) => readCsv('t.csv', text, one));
    expect(valuesOf(inventory, 'x')).toEqual({ a: '1' });
  });

  it('that cannot be read is reported with its place', () => {
    expect(() => inventoryOf((one) => readCsv('t.csv', 'a,b\n1,2\n', one))).toThrow('t.csv has no column for the name');
    expect(() => inventoryOf((one) => readCsv('t.csv', 'name,b\nx,1\ny,"2\n', one))).toThrow(
      't.csv: Quote Not Closed: the parsing is finished with an opening quote at line 3',
    );
  });

  it('lists rows and cells without a place or with a duplicate name', () => {
    const text = 'name,role,role,note\nweb-1,web,db,a, b\nweb-1,db,,\n';
    const inventory = inventoryOf((one) => readCsv('t.csv', text, one));
    expect(valuesOf(inventory, 'web-1')).toEqual({ role: 'web', note: 'a' });
    expect(leftOutOf(inventory)).toEqual([
      't.csv:2 role: the first row has this name twice',
      't.csv:2 cell 5: it has no name in the first row',
      't.csv:3 : line 2 has "web-1" already',
    ]);
  });
});

test('readNodes reads nodes and facts from a table, a map or a list', () => {
  const facts = (file: string, text: string) =>
    readNodes(file, text).map(({ name, facts }) => [name, Object.fromEntries(facts)]);
  expect(facts('n.csv', 'certname,facts.os.family,role\na,Debian,web\n')).toEqual([
    ['a', { 'os.family': 'Debian', role: 'web' }],
  ]);
  expect(
    facts('n.yaml', 'a: { facts: { os: { family: Debian } }, trusted: { extensions: { pp_role: web } } }\nb:\n'),
  ).toEqual([
    ['a', { 'os.family': 'Debian', 'trusted.extensions.pp_role': 'web' }],
    ['b', {}],
  ]);
  expect(facts('n.json', '[{ "certname": "a", "disks": ["sda", "sdb"], "up": true }]')).toEqual([
    ['a', { certname: 'a', disks: ['sda', 'sdb'], 'disks.0': 'sda', 'disks.1': 'sdb', up: 'true' }],
  ]);
  expect(() => readNodes('n.yaml', '- { role: web }\n')).toThrow('n.yaml:1: a node has no name');
});

describe('a Terraform state', () => {
  const instance = (attributes: object, more: object = {}) => ({ schema_version: 1, attributes, ...more });
  const STATE = {
    version: 4,
    terraform_version: '1.9.0',
    resources: [
      {
        mode: 'managed',
        type: 'aws_instance',
        name: 'web',
        instances: [0, 1].map((index) =>
          instance(
            {
              ami: 'ami-1',
              instance_type: 't3.small',
              availability_zone: 'eu-1a',
              private_ip: `10.0.0.${index}`,
              password_data: '',
              tags: { Name: 'web', Environment: 'prod' },
              ebs: [{ size: 8 }],
              timeouts: null,
              user_data: 'x',
              key: { a: true },
            },
            { index_key: index, sensitive_attributes: [[{ type: 'get_attr', value: 'user_data' }]] },
          ),
        ),
      },
      {
        mode: 'managed',
        type: 'hcloud_server',
        name: 'one',
        instances: [
          instance({
            name: 'only-one',
            server_type: 'cx22',
            location: 'nbg1',
            type: 'x',
            user_data: 'pw',
            metadata: { 'startup-script': 'pw' },
          }),
        ],
      },
      { mode: 'managed', type: 'aws_vpc', name: 'main', instances: [instance({ cidr: '10.0.0.0/8' })] },
      { mode: 'data', type: 'aws_instance', name: 'other', instances: [instance({ ami: 'x' })] },
    ],
  };

  it('has servers of many types with their attributes', () => {
    const text = JSON.stringify(STATE, null, 1);
    const { inventory, files, proof, problems } = importOf((one) => readTerraform('s.tfstate', text, one));
    expect([...inventory.nodes.keys()]).toEqual(['web-0', 'web-1', 'only-one']);
    expect(valuesOf(inventory, 'web-1')).toEqual({
      ami: 'ami-1',
      instance_type: 't3.small',
      availability_zone: 'eu-1a',
      private_ip: '10.0.0.1',
      'tags::Name': 'web',
      'tags::Environment': 'prod',
      ebs: ['{"size":8}'],
      'key::a': true,
    });
    expect(leftOutOf(inventory).map((line) => line.replace(/^s\.tfstate:\d+ /, ''))).toEqual([
      'user_data: Terraform calls it sensitive',
      'type: "type" is a field of every object, and not a key: rename it',
      'user_data: what runs at the first start often holds secrets: keep it with the provider',
      'metadata::startup-script: what runs at the first start often holds secrets: keep it with the provider',
    ]);
    expect({ problems, differing: proof.differing }).toEqual({ problems: [], differing: 0 });
    expect(files['stacks/instances/web.yaml']).toContain('count: "2"\n');
    expect(files['stacks/templates/web.yaml']).toContain('zone: eu-1a\n');
    expect(files['tree.yaml']).toContain('name: nbg1\n');
    expect(files['types/shape/t3.small.yaml']).toContain('instance_type: t3.small\n');
  });

  it('counts a server for each module, resource and key, and lists each server that it leaves out', () => {
    const web = (more: object, instances: readonly object[]) => ({
      mode: 'managed',
      type: 'aws_instance',
      name: 'web',
      ...more,
      instances,
    });
    const [a, b] = [
      { ami: 'a', tags: { Name: 'web' } },
      { ami: 'b', tags: { Name: 'web' } },
    ];
    const state = {
      version: 4,
      resources: [
        web({ module: 'module.east' }, [instance(a)]),
        web({ module: 'module.west["x"]' }, [
          instance(b),
          instance({ ami: 'old', tags: { Name: 'web' } }, { deposed: '1' }),
        ]),
        web({ name: 'one' }, [
          instance({ ami: 'c', tags: { Name: 'only' } }),
          instance({ ami: 'd' }, { deposed: '2' }),
        ]),
        web({ name: 'two' }, [
          instance({ ami: 'e' }, { index_key: 'a/b' }),
          instance({ ami: 'f' }, { index_key: 'a b' }),
        ]),
        web({ name: 'three' }, [{ schema_version: 0, attributes_flat: {} }]),
      ],
    };
    const inventory = inventoryOf((one) => readTerraform('s.tfstate', JSON.stringify(state), one));
    const amis = [...inventory.nodes.keys()].map((name) => [name, valuesOf(inventory, name).ami]);
    expect(amis).toEqual([
      ['east-web', 'a'],
      ['west-x-web', 'b'],
      ['only', 'c'],
      ['two-a-b', 'e'],
    ]);
    expect(leftOutOf(inventory)).toEqual([
      's.tfstate:0 : module.west["x"] web is deposed: Terraform replaced it, and has yet to destroy it',
      's.tfstate:0 : one is deposed: Terraform replaced it, and has yet to destroy it',
      's.tfstate:0 : three has no attributes',
      's.tfstate:0 : two a b has the name "two-a-b" of two a/b',
    ]);
  });

  it('of another version is refused', () => {
    const read = () => inventoryOf((one) => readTerraform('s.tfstate', '{ "version": 3 }', one));
    expect(read).toThrow('s.tfstate is no Terraform state of version 4 (3)');
  });
});

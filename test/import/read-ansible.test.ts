// Tests the reader of Ansible's inventories: hosts, groups, literals, and which variable wins. The cases follow what
// `ansible-inventory --list` prints of the same files.
import { describe, expect, it, test } from 'vitest';
import { expandRange } from '../../src/import/ansible-hosts.ts';
import { readAnsible } from '../../src/import/read-ansible.ts';
import { importOf, inventoryOf, leftOutOf, valuesOf } from './imported.ts';

function read(files: Readonly<Record<string, string>>, playbooks?: string) {
  return inventoryOf((inventory) => readAnsible(new Map(Object.entries(files)), inventory, playbooks));
}

test.each<[pattern: string, names: readonly string[]]>([
  ['web[1:3]', ['web1', 'web2', 'web3']],
  ['web[08:10].example.com', ['web08.example.com', 'web09.example.com', 'web10.example.com']],
  ['db-[a:c]', ['db-a', 'db-b', 'db-c']],
  ['n[0:6:3]-[x:y]', ['n0-x', 'n0-y', 'n3-x', 'n3-y', 'n6-x', 'n6-y']],
  ['plain', ['plain']],
  ['odd[1:x]', ['odd[1:x]']],
])('%s stands for hosts', (pattern, names) => {
  expect(expandRange(pattern)).toEqual(names);
});

test('a range of too many hosts is refused', () => {
  expect(() => expandRange('web[1:900000000]')).toThrow('stands for more than 20000 hosts');
  expect(() => expandRange('web[1:1000]-[1:1000]')).toThrow('stands for more than 20000 hosts');
});

describe('an inventory in INI', () => {
  it('has hosts with variables, groups of groups, and variables of groups', () => {
    const inventory = read({
      'inv/hosts': `# a comment
lonely
[web]
web[1:2] port=80 name_of_it="with blank" # why
web2 port=8080 flag=True off=False none=None zero=007 ratio=1.5 list="['a', 'b']" text='80'
jump:2222

[db]
db1
[site:children]
web
db
[site:vars]
ntp = one.example.com
count=3
quoted="x y"
five=5 # as Python reads it
hash={'a': True}
exp=-1e3
`,
    });
    expect([...inventory.nodes.keys()]).toEqual(['lonely', 'web1', 'web2', 'jump', 'db1']);
    expect(valuesOf(inventory, 'web1')).toEqual({
      ntp: 'one.example.com',
      count: 3,
      quoted: 'x y',
      five: 5,
      'hash::a': true,
      exp: -1000,
      port: 80,
      name_of_it: 'with blank',
    });
    expect(valuesOf(inventory, 'web2')).toMatchObject({
      port: 8080,
      flag: true,
      off: false,
      zero: '007',
      ratio: 1.5,
      list: ['a', 'b'],
      text: 80,
    });
    expect(valuesOf(inventory, 'jump')).toMatchObject({ ansible_port: 2222 });
    expect(valuesOf(inventory, 'lonely')).toEqual({});
    expect(leftOutOf(inventory)).toEqual(['inv/hosts:5 none: it is null, and a record has no such value']);
  });
});

it('lists what is no part of a group, and reads nothing of it', () => {
  const inventory = read({
    'inv/hosts': `[web]
web1
[web:chidren]
web2
[site:child-ren]
web
[site:hosts]
web3
[db:var] # x
port=1
`,
    'inv/more.yml': `site:
  hosts: { web4: }
  chidren: { lost: { hosts: { web5: } } }
`,
  });
  expect([...inventory.nodes.keys()]).toEqual(['web1', 'web3', 'web4']);
  expect(valuesOf(inventory, 'web1')).toEqual({});
  const section = 'the section of a group ends in :children, :vars or neither';
  expect(leftOutOf(inventory)).toEqual([
    `inv/hosts:3 : ${section}`,
    `inv/hosts:5 : ${section}`,
    `inv/hosts:9 : ${section}`,
    'inv/more.yml:3 chidren: only hosts, children, vars of a group are read',
  ]);
});

describe('variables', () => {
  const YAML = `all:
  vars: { from: inventory all, a: 1 }
  children:
    web:
      hosts: { web1: { own: inventory }, "web[2:3]": }
      vars: { from: inventory web, b: 1 }
    wide:
      children: { web: {} }
      vars: { from: inventory wide, c: 1 }
`;
  it('count in the order that Ansible documents', () => {
    const files: Record<string, string> = { 'inv/hosts.yml': YAML };
    const from = () => valuesOf(read(files, 'play/'), 'web1').from;
    const steps: readonly (readonly [file: string, text: string])[] = [
      ['inv/group_vars/all.yml', 'files all'],
      ['play/group_vars/all/main.yml', 'playbooks all'],
      ['inv/group_vars/wide', 'files wide'],
      ['inv/group_vars/web/10.yaml', 'files web 10'],
      ['inv/group_vars/web/20.yaml', 'files web 20'],
      ['play/group_vars/wide.yml', 'files web 20'],
      ['play/group_vars/web.yml', 'playbooks web'],
      ['inv/host_vars/web1.json', 'files web1'],
      ['play/host_vars/web1.yml', 'playbooks web1'],
    ];
    expect(from()).toBe('inventory web');
    for (const [file, wanted] of steps) {
      files[file] =
        `{ "from": ${JSON.stringify(file.endsWith('play/group_vars/wide.yml') ? 'playbooks wide' : wanted)} }\n`;
      if (file === 'play/group_vars/wide.yml') continue;
      expect(from(), file).toBe(file === 'play/group_vars/all/main.yml' ? 'playbooks all' : wanted);
    }
    expect(valuesOf(read(files), 'web1')).toMatchObject({ a: 1, b: 1, c: 1, own: 'inventory' });
  });

  it('of groups that are equally deep count by priority, then by name', () => {
    const hosts = 'all: { children: { a: { hosts: { x: } }, b: { hosts: { x: } } } }\n';
    const files = { 'inv/hosts.yml': hosts, 'inv/group_vars/a.yml': 'v: a\n', 'inv/group_vars/b.yml': 'v: b\n' };
    expect(valuesOf(read(files), 'x')).toEqual({ v: 'b' });
    const priority = hosts.replace('a: { hosts', 'a: { vars: { ansible_group_priority: 10 }, hosts');
    expect(valuesOf(read({ ...files, 'inv/hosts.yml': priority }), 'x')).toEqual({ v: 'a' });
  });

  it('that are templates, encrypted, or secrets are listed', () => {
    const inventory = read({
      'inv/hosts': '[web]\nweb1\n',
      'inv/group_vars/web.yml': `url: "http://{{ inventory_hostname }}/"
paths: [a, "{% if x %}b{% endif %}"]
nested: { fine: 1, not: "{{ x }}" }
vaulted: !vault |
  $ANSIBLE_VAULT;1.1;AES256
  6162
raw: !unsafe "{plain"
db_password: hunter2
dsn: "postgres://me:hunter2@db/x"
`,
      'inv/host_vars/web1/vault.yml': '$ANSIBLE_VAULT;1.1;AES256\n6162\n',
    });
    expect(valuesOf(inventory, 'web1')).toEqual({ 'nested::fine': 1, raw: '{plain' });
    const secret = 'it looks like a secret: keep it in a secret store, and write a reference';
    const template = 'it is a template of Jinja, which only Ansible evaluates';
    expect(leftOutOf(inventory)).toEqual([
      `inv/group_vars/web.yml:1 url: ${template}`,
      `inv/group_vars/web.yml:2 paths: ${template}`,
      `inv/group_vars/web.yml:3 nested::not: ${template}`,
      'inv/group_vars/web.yml:5 vaulted: it is encrypted with Ansible Vault',
      `inv/group_vars/web.yml:8 db_password: ${secret}`,
      `inv/group_vars/web.yml:9 dsn: ${secret}`,
      'inv/host_vars/web1/vault.yml:1 : it is encrypted with Ansible Vault',
    ]);
  });
});

it('lists inventories that a program makes, and reads no other files', () => {
  const files = {
    'inv/aws_ec2.yml': 'plugin: aws_ec2\n',
    'inv/list': '#!/bin/sh\n',
    'inv/README.md': 'x y z\n',
    'inv/hosts': 'a\n',
  };
  const inventory = read(files);
  expect([...inventory.nodes.keys()]).toEqual(['a']);
  expect(leftOutOf(inventory)).toEqual([
    'inv/aws_ec2.yml:1 : a program makes this inventory: name a file with what it prints',
    'inv/list:1 : a program makes this inventory: name a file with what it prints',
  ]);
});

it('takes the environment and the role from groups, and makes one template of like instances', () => {
  const hosts = `[web]
prod-web-[01:03]
stage-web-[01:02]
[db]
prod-db
[monitored:children]
web
db
[production]
prod-web-[01:03]
prod-db
[staging]
stage-web-[01:02]
`;
  const files = {
    'inv/hosts': hosts,
    'inv/group_vars/all.yml': 'ntp: one\n',
    'inv/group_vars/staging.yml': 'debug: true\nlevel: 2\n',
    'inv/group_vars/web.yml': 'port: 80\n',
  };
  const {
    files: written,
    proof,
    problems,
  } = importOf((inventory) => readAnsible(new Map(Object.entries(files)), inventory, undefined), { adopt: true });
  expect({ problems, differing: proof.differing, nodes: proof.nodes }).toEqual({
    problems: [],
    differing: 0,
    nodes: 6,
  });
  expect(
    written['stacks/instances/stage-web.yaml'],
  ).toBe(`# yaml-language-server: $schema=../../schemas/stack-instance.schema.json
stackTemplate: web
adopt: true
parameters:
  prefix: stage-web-
  count: "2"
  environment: staging
`);
  expect(Object.keys(written).filter((path) => path.startsWith('types/'))).toEqual([
    'types/common/global.yaml',
    'types/environment/staging.yaml',
    'types/role/db.yaml',
    'types/role/web.yaml',
  ]);
  expect(written['types/role/web.yaml']).toContain('\nport: 80\n');
});

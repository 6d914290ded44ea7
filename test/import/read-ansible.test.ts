// Tests the reader of what `ansible-inventory --list` prints: hosts, values, and what may select layers.
import { describe, expect, it } from 'vitest';
import { readAnsible } from '../../src/import/read-ansible.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { importOf, inventoryOf, leftOutOf, valuesOf } from './imported.ts';

function read(listed: JsonMap) {
  return inventoryOf((inventory) => readAnsible('inv/hosts', JSON.stringify(listed), inventory));
}

/** Returns an inventory of one host as Ansible prints it. */
function hostWith(variables: JsonMap): JsonMap {
  return {
    _meta: { hostvars: { web1: variables } },
    all: { children: ['ungrouped', 'web'] },
    web: { hosts: ['web1'] },
  };
}

describe('an Ansible inventory', () => {
  it('has the values that Ansible prints, and hosts without values', () => {
    const inventory = read({
      ...hostWith({
        port: 80,
        on: true,
        time: '02:30',
        mac: '52:54:00:12:34:56',
        limits: { files: 4 },
        list: [1, 'a'],
      }),
      ungrouped: { hosts: ['lonely'] },
    });
    expect(valuesOf(inventory, 'web1')).toEqual({
      port: 80,
      on: true,
      time: '02:30',
      mac: '52:54:00:12:34:56',
      'limits::files': 4,
      list: ['1', 'a'],
    });
    expect(valuesOf(inventory, 'lonely')).toEqual({});
    expect([...inventory.nodes.keys()].sort()).toEqual(['lonely', 'web1']);
  });

  it('lists templates, encrypted values, secrets and inexact numbers, with their servers', () => {
    const inventory = read(
      hostWith({
        url: 'http://{{ inventory_hostname }}/',
        paths: ['a', '{% if x %}b{% endif %}'],
        nested: { fine: 1, not: '{{ x }}' },
        named: { '{{ x }}': 1 },
        vaulted: { __ansible_vault: '$ANSIBLE_VAULT;1.1;AES256\n6162\n' },
        list: [{ __ansible_vault: '$ANSIBLE_VAULT;1.1;AES256\n6162\n' }],
        raw: { __ansible_unsafe: '{{ plain' },
        db_password: 'hunter2',
        dsn: 'postgres://me:hunter2@db/x',
        serial: 2 ** 60,
        nothing: null,
      }),
    );
    expect(valuesOf(inventory, 'web1')).toEqual({ 'nested::fine': 1, raw: '{{ plain' });
    const secret = 'it looks like a secret: keep it in a secret store, and write a reference';
    const template = 'it is a template of Jinja, which Ansible evaluates for each task';
    expect(leftOutOf(inventory)).toEqual([
      `inv/hosts:0 url: ${template}`,
      `inv/hosts:0 paths: ${template}`,
      `inv/hosts:0 nested::not: ${template}`,
      `inv/hosts:0 named: ${template}`,
      'inv/hosts:0 vaulted: it is encrypted with Ansible Vault',
      'inv/hosts:0 list: it is encrypted with Ansible Vault',
      `inv/hosts:0 db_password: ${secret}`,
      `inv/hosts:0 dsn: ${secret}`,
      'inv/hosts:0 serial: a record cannot contain this number',
      'inv/hosts:0 nothing: it is null, and a record has no such value',
    ]);
    expect(inventory.leftOut.map(({ servers }) => servers)).toEqual(Array(10).fill(['web1']));
  });

  it.each(['[]', '{', 'web1\n'])('is refused if it is no JSON of Ansible: %j', (text) => {
    expect(() => inventoryOf((inventory) => readAnsible('hosts.json', text, inventory))).toThrow(
      /^hosts\.json is not what "ansible-inventory --list" prints/,
    );
  });
});

it('takes environment and role from groups, and makes one template of similar instances', () => {
  const [web, staged] = [
    ['prod-web-01', 'prod-web-02', 'prod-web-03'],
    ['stage-web-01', 'stage-web-02'],
  ] as const;
  const hostvars = Object.fromEntries([
    ...[...web, ...staged].map((name): [string, JsonMap] => [name, { ntp: 'one', port: 80 }]),
    ...staged.map((name): [string, JsonMap] => [name, { ntp: 'one', port: 80, debug: true, level: 2 }]),
    ['prod-db', { ntp: 'one' }],
  ]);
  const listed: JsonMap = {
    _meta: { hostvars },
    all: { children: ['ungrouped', 'monitored', 'production', 'staging'] },
    monitored: { children: ['web', 'db'] },
    web: { hosts: [...web, ...staged] },
    db: { hosts: ['prod-db'] },
    production: { hosts: [...web, 'prod-db'] },
    staging: { hosts: staged },
  };
  const {
    files: written,
    proof,
    problems,
  } = importOf((inventory) => readAnsible('inv/hosts', JSON.stringify(listed), inventory), { adopt: true });
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

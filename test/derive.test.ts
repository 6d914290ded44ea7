import { describe, expect, test } from 'vitest';
import type { DesiredState } from '../src/desired/desired-state.ts';
import { describeProblems } from './support/entries.ts';
import { explainedRecordOf } from './support/explained-records.ts';
import { type TextChanges, TextRepository } from './support/text-repository.ts';

const SHOP = 'stacks/instances/shop.yaml';
const FARM = 'stacks/instances/farm.yaml';
const TEMPLATE = 'stacks/templates/web.yaml';
const SHAPE = 'types/shape/small.yaml';
const LAB = 'types/clientcert/lab.yaml';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\nchildren: [{ name: prod, type: environment }]\n',
  [TEMPLATE]: `parameters: { count: "1", port: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      max_unavailable: "25%"
      pause_seconds: "7"
      resource_def:
        properties: { environment: prod, shape: small, role: web, port: "<<port>>", configuration_only: port }
`,
  'stacks/templates/database.yaml': 'resources: { db: { type: "Platform::Server", properties: { role: db } } }\n',
  [SHOP]: 'stackTemplate: web\nparameters: { port: "80", count: "2" }\n',
  [FARM]: 'stackTemplate: web\nparameters: { port: "81" }\ndrift: heal\ndeletion: retain\nadopt: true\n',
  'stacks/instances/store.yaml': 'stackTemplate: database\n',
  'types/common/global.yaml': 'ntp: one\n',
  [SHAPE]: 'description: Small\ncpus: 2\n',
  'types/role/web.yaml': 'packages: [nginx]\n',
  'types/role/db.yaml': 'packages: [postgresql]\n',
  [LAB]: 'role: db\nip: 192.0.2.1\n',
};

function followed(): { repository: TextRepository; before: DesiredState } {
  const repository = new TextRepository();
  return { repository, before: repository.commit(FILES) };
}

/** Returns the active version of a unit: the commit it comes from, and what it wants. */
function activeVersionOf(desired: DesiredState, key: string): unknown {
  const unit = desired.units.get(key);
  return unit === undefined
    ? undefined
    : {
        commit: unit.commit,
        servers: unit.servers,
        records: [...unit.nodes.keys()].map((name) => explainedRecordOf(desired, name)),
      };
}

test('servers of a valid commit have the policy of their instance and group', () => {
  const policyOf = (instance: string, server: string) =>
    followed().before.units.get(`stack-instance/${instance}`)?.servers.get(server)?.policy;
  expect(policyOf('farm', 'farm-web-1')).toEqual({
    maxUnavailable: '25%',
    pauseSeconds: 7,
    drift: 'heal',
    deletion: 'retain',
    protected: false,
    adopt: true,
  });
  expect(policyOf('store', 'store-db')).toEqual({
    maxUnavailable: '1',
    pauseSeconds: 0,
    drift: null,
    deletion: 'delete',
    protected: false,
    adopt: false,
  });
});

describe('an instance with a mistake is pinned', () => {
  const MISTAKES: readonly (readonly [what: string, changes: TextChanges, problem: RegExp])[] = [
    [
      'in its own file',
      { [SHOP]: 'stackTemplate: web\nparameters: { port: "80", prot: "80" }\n' },
      /shop\.yaml:2:\d+ undeclared_parameter/,
    ],
    ['that is no YAML', { [SHOP]: 'a: b: c\n' }, /shop\.yaml:1:4 yaml_syntax/],
    [
      'in the name of its template',
      { [SHOP]: 'stackTemplate: wbe\n' },
      /shop\.yaml:1:16 unknown_template: .*"wbe" \(did you mean "web"\?\)/,
    ],
    [
      'in a key of its properties',
      {
        [SHOP]: `${FILES[SHOP]}stackTemplateAdditions: { resources: { web: { properties: { resource_def: { properties: { a.b: x } } } } } }\n`,
      },
      /shop\.yaml:3:\d+ bad_key/,
    ],
  ];

  test.each(MISTAKES)('%s', (_what, changes, problem) => {
    const { repository, before } = followed();
    const after = repository.commit(changes);
    expect(activeVersionOf(after, 'stack-instance/shop')).toEqual(activeVersionOf(before, 'stack-instance/shop'));
    expect(after.invalid).toEqual(new Set(['shop']));
    expect(describeProblems(after.problems)).toEqual([expect.stringMatching(problem)]);
    expect(after.problems.map(({ instances }) => instances)).toEqual([['shop']]);
  });

  test('although its inputs change', () => {
    const { repository, before } = followed();
    repository.commit({ [SHOP]: 'stackTemplate: wbe\n' });
    const after = repository.commit({ [SHAPE]: 'cpus: 4\n', 'types/common/global.yaml': 'ntp: two\n' });
    expect(activeVersionOf(after, 'stack-instance/shop')).toEqual(activeVersionOf(before, 'stack-instance/shop'));
    expect(after.units.get('stack-instance/farm')?.servers.get('farm-web-1')?.spec.layers).toEqual({
      shape: { cpus: 4 },
    });
    expect(after.invalid).toEqual(new Set(['shop']));
  });

  test('until it is corrected', () => {
    const { repository } = followed();
    repository.commit({ [SHOP]: 'stackTemplate: wbe\n', [SHAPE]: 'cpus: 4\n' });
    const after = repository.commit({ [SHOP]: FILES[SHOP].replace('"2"', '"3"') });
    const unit = after.units.get('stack-instance/shop');
    expect(unit?.commit).toBe('commit 3');
    expect([...(unit?.servers.values() ?? [])].map(({ name, spec }) => [name, spec.layers])).toEqual([
      ['shop-web-1', { shape: { cpus: 4 } }],
      ['shop-web-2', { shape: { cpus: 4 } }],
      ['shop-web-3', { shape: { cpus: 4 } }],
    ]);
    expect(after.invalid).toEqual(new Set());
    expect(after.problems).toEqual([]);
  });

  test('without servers if it is new', () => {
    const { repository } = followed();
    const after = repository.commit({ 'stacks/instances/new.yaml': 'stackTemplate: wbe\n' });
    expect(after.units.has('stack-instance/new')).toBe(false);
    expect(after.candidates.get('stack-instance/new')?.servers.size).toBe(0);
    expect(after.invalid).toEqual(new Set(['new']));
  });

  test('until it is removed', () => {
    const { repository } = followed();
    repository.commit({ [SHOP]: 'a: b: c\n' });
    const after = repository.commit({ [SHOP]: null });
    expect(after.units.has('stack-instance/shop')).toBe(false);
    expect(after.invalid).toEqual(new Set());
    expect(after.problems).toEqual([]);
  });

  test('but not for a warning', () => {
    const { repository } = followed();
    const after = repository.commit({ [SHOP]: `${FILES[SHOP]}resources: {}\n` });
    expect(after.problems.map(({ severity, code }) => [severity, code])).toEqual([['warning', 'ignored_field']]);
    expect(after.units.get('stack-instance/shop')?.commit).toBe('commit 2');
    expect(after.invalid).toEqual(new Set());
  });
});

describe('a template with a mistake', () => {
  test.each([
    ['in its YAML', 'a: b: c\n', 'yaml_syntax'],
    ['in a field', 'resourcess: {}\n', 'unknown_field'],
    ['that only its expansion shows', FILES[TEMPLATE].replace('<<port>>', '<<prot>>'), 'undeclared_placeholder'],
  ])('%s is reported once with all its users, which are pinned', (_what, text, code) => {
    const { repository, before } = followed();
    const after = repository.commit({ [TEMPLATE]: text });
    const errors = after.problems.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ file, code: found, instances }) => ({ file, code: found, instances }))).toContainEqual({
      file: TEMPLATE,
      code,
      instances: ['farm', 'shop'],
    });
    expect(errors.every(({ instances }) => instances?.join() === 'farm,shop')).toBe(true);
    for (const key of ['stack-instance/farm', 'stack-instance/shop'])
      expect(activeVersionOf(after, key)).toEqual(activeVersionOf(before, key));
    expect(after.invalid).toEqual(new Set(['farm', 'shop']));
    expect(after.units.get('stack-instance/store')).toBeDefined();
  });

  test('is reported if it has no users', () => {
    const { repository } = followed();
    const after = repository.commit({
      'stacks/templates/new.yaml': 'resources: { a: { type: "Platform::Server", properties: { x: "<<y>>" } } }\n',
    });
    expect(after.problems.map(({ code, instances }) => [code, instances])).toEqual([
      ['undeclared_placeholder', undefined],
    ]);
    expect(after.invalid).toEqual(new Set());
  });

  test('is a mistake of its users if it is removed', () => {
    const { repository } = followed();
    const after = repository.commit({ [TEMPLATE]: null });
    expect(describeProblems(after.problems)).toEqual([
      'farm.yaml:1:16 unknown_template: there is no stack template "web" (add stacks/templates/web.yaml) [farm]',
      'shop.yaml:1:16 unknown_template: there is no stack template "web" (add stacks/templates/web.yaml) [shop]',
    ]);
    expect([...after.owners.keys()].sort()).toEqual(['farm-web-1', 'shop-web-1', 'shop-web-2', 'store-db']);
  });
});

describe('a layer with a mistake', () => {
  test('pins every instance that uses it, and is reported once', () => {
    const { repository, before } = followed();
    const after = repository.commit({ [SHAPE]: 'cpus: { a: 1 }\n' });
    expect(after.problems.map(({ file, code, instances }) => ({ file, code, instances }))).toEqual([
      { file: SHAPE, code: 'wrong_type', instances: ['farm', 'shop'] },
    ]);
    expect(activeVersionOf(after, 'stack-instance/shop')).toEqual(activeVersionOf(before, 'stack-instance/shop'));
    expect(after.units.get('stack-instance/store')?.commit).toBe('commit 1');
  });

  test('pins hand-written clientcerts too', () => {
    const { repository, before } = followed();
    const after = repository.commit({ 'types/role/db.yaml': 'packages: {}\n' });
    expect(activeVersionOf(after, 'clientcert/lab')).toEqual(activeVersionOf(before, 'clientcert/lab'));
    expect(after.problems.map(({ instances }) => instances)).toEqual([['store']]);
  });
});

describe('clientcerts', () => {
  test('that are hand-written are pinned at their last valid version', () => {
    const { repository, before } = followed();
    const after = repository.commit({ [LAB]: 'role: bd\n' });
    expect(activeVersionOf(after, 'clientcert/lab')).toEqual(activeVersionOf(before, 'clientcert/lab'));
    expect(describeProblems(after.problems)).toEqual([
      'lab.yaml:1:7 unknown_object: there is no role "bd" (did you mean "db"?)',
    ]);
    expect(after.invalid).toEqual(new Set());
  });

  test('that are new and invalid do not exist, nor do removed ones', () => {
    const { repository } = followed();
    const after = repository.commit({ 'types/clientcert/new.yaml': 'role: bd\n', [LAB]: null });
    expect([...after.units.keys()].filter((key) => key.startsWith('clientcert/'))).toEqual([]);
  });

  test('of servers of a stack are their last layer, and no units', () => {
    const { repository } = followed();
    const after = repository.commit({ 'types/clientcert/store-db.yaml': 'description: Old\nip: 192.0.2.9\n' });
    expect(after.units.has('clientcert/store-db')).toBe(false);
    expect(explainedRecordOf(after, 'store-db')).toMatchObject({
      ip: { value: '192.0.2.9' },
      description: { value: 'Old' },
    });
  });

  test('of servers of a stack pin that stack if they are invalid', () => {
    const { repository, before } = followed();
    const after = repository.commit({ 'types/clientcert/store-db.yaml': 'role: web\n' });
    expect(after.problems.map(({ code, instances }) => [code, instances])).toEqual([['selector_in_layer', ['store']]]);
    expect(activeVersionOf(after, 'stack-instance/store')).toEqual(activeVersionOf(before, 'stack-instance/store'));
  });

  test('that are hand-written become those of servers when a stack creates their name', () => {
    const { repository } = followed();
    const after = repository.commit({
      [LAB]: 'ip: 192.0.2.1\n',
      'stacks/instances/store.yaml':
        'stackTemplate: database\nstackTemplateAdditions: { resources: { db: { properties: { name: lab } } } }\n',
    });
    expect(after.units.has('clientcert/lab')).toBe(false);
    expect(explainedRecordOf(after, 'lab')).toMatchObject({
      stackInstance: { value: ['store'] },
      ip: { value: '192.0.2.1' },
    });
    const again = repository.commit({ 'stacks/instances/store.yaml': 'stackTemplate: database\n' });
    expect(explainedRecordOf(again, 'lab')).toMatchObject({ stackInstance: { value: [] } });
  });
});

describe('a commit that is refused as a whole', () => {
  test.each<[string, TextChanges, string]>([
    ['a wrong tree', { 'tree.yaml': 'name: global\ntype: zone\n' }, 'wrong_value'],
    ['no tree', { 'tree.yaml': null }, 'tree_missing'],
    ['a wrong hierarchy', { 'hierarchy.yaml': 'ordre: []\n' }, 'unknown_field'],
    ['a tree that the order does not allow', { 'hierarchy.yaml': 'order: [common, location, zone]\n' }, 'tree_level'],
  ])('%s', (_what, changes, code) => {
    const { repository } = followed();
    const problems = repository.refused({ ...changes, [SHOP]: 'a: b: c\n' });
    expect(problems.map((problem) => problem.code)).toContain(code);
    expect(problems.map((problem) => problem.file)).toContain(SHOP);
  });

  test('is not the baseline of the next commit', () => {
    const { repository, before } = followed();
    repository.refused({ 'tree.yaml': null, [SHOP]: null });
    const after = repository.commit({ 'tree.yaml': FILES['tree.yaml'], [SHOP]: 'a: b: c\n' });
    expect(activeVersionOf(after, 'stack-instance/shop')).toEqual(activeVersionOf(before, 'stack-instance/shop'));
  });
});

test('a commit that only changes configuration expands nothing again', () => {
  const { repository, before } = followed();
  const after = repository.commit({ [SHAPE]: 'description: Small\ncpus: 4\n' });
  const [old, now] = [before, after].map(({ units }) => [...(units.get('stack-instance/shop')?.nodes.values() ?? [])]);
  expect(now).toHaveLength(2);
  expect(now?.map(({ own }) => own[0]?.origin)).toEqual(old?.map(({ own }) => own[0]?.origin));
  expect(now?.[0]?.own[0]?.origin).toBe(old?.[0]?.own[0]?.origin);
  expect(now?.[0]?.shared).not.toEqual(old?.[0]?.shared);
});

describe('a commit derives', () => {
  test.each<[string, TextChanges, Partial<DesiredState['counts']>]>([
    ['nothing that is unchanged', {}, { blobsRead: 0, filesParsed: 0, instancesExpanded: 0, recordsMerged: 0 }],
    [
      'one instance for its own file',
      { [SHOP]: FILES[SHOP].replace('80', '8080') },
      { blobsRead: 1, filesParsed: 1, instancesExpanded: 1, recordsMerged: 2 },
    ],
    [
      'the users of a template',
      { [TEMPLATE]: FILES[TEMPLATE].replace('"7"', '"8"') },
      { filesParsed: 1, instancesExpanded: 2, recordsMerged: 3 },
    ],
    [
      'the users of an object',
      { 'types/role/db.yaml': 'packages: []\n' },
      { filesParsed: 1, instancesExpanded: 1, recordsMerged: 2 },
    ],
    [
      'the users of an object that was missing',
      { 'types/environment/prod.yaml': 'dns: x\n' },
      { filesParsed: 1, instancesExpanded: 2, recordsMerged: 3 },
    ],
    [
      'nothing for an object without users',
      { 'types/role/new.yaml': 'x: 1\n' },
      { filesParsed: 1, instancesExpanded: 0, recordsMerged: 0 },
    ],
    [
      'everything for the tree',
      { 'tree.yaml': `${FILES['tree.yaml']}description: x\n` },
      { filesParsed: 1, instancesExpanded: 3, recordsMerged: 5 },
    ],
    ['nothing for an unrelated file', { 'README.md': 'x\n' }, { blobsRead: 0, filesParsed: 0, instancesExpanded: 0 }],
    [
      'a clientcert for its own file',
      { [LAB]: 'role: db\n' },
      { filesParsed: 1, instancesExpanded: 0, recordsMerged: 1 },
    ],
  ])('%s', (_what, changes, counts) => {
    const { repository } = followed();
    expect(repository.commit(changes).counts).toMatchObject(counts);
  });

  test('a reused unit is the same object', () => {
    const { repository, before } = followed();
    const after = repository.commit({ [SHOP]: FILES[SHOP].replace('80', '8080') });
    expect(after.units.get('stack-instance/farm')).toBe(before.units.get('stack-instance/farm'));
    expect(after.units.get('clientcert/lab')).toBe(before.units.get('clientcert/lab'));
    expect(after.units.get('stack-instance/shop')).not.toBe(before.units.get('stack-instance/shop'));
  });

  test('an invalid instance is built again when its hint may change', () => {
    const { repository } = followed();
    repository.commit({ [SHOP]: 'stackTemplate: cache\n' });
    const after = repository.commit({ 'stacks/templates/caches.yaml': FILES[TEMPLATE] });
    expect(after.problems.map(({ hint }) => hint)).toEqual(['did you mean "caches"?']);
  });
});

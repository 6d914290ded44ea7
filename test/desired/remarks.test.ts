import { describe, expect, test } from 'vitest';
import { problemsAndRemarks } from '../../src/desired/remarks.ts';
import { describeProblems } from '../support/entries.ts';
import { type TextChanges, TextRepository } from '../support/text-repository.ts';

const FILES: TextChanges = {
  'tree.yaml': `name: global
type: common
children:
  - { name: prod, type: environment, children: [{ name: lab, type: location }] }
`,
  'hierarchy.yaml': `order:
  - common
  - environment
  - location
  - { type: configuration, name: "<<environment>>-<<location>>" }
  - role
`,
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/web.yaml': `resources:
  web: { type: "Platform::Server", properties: { environment: prod, location: lab, role: web } }
`,
  'stacks/instances/shop.yaml': 'stackTemplate: web\n',
  'types/role/web.yaml': 'packages: [nginx]\n',
};

function remarks(...commits: readonly TextChanges[]): string[] {
  const repository = new TextRepository();
  let desired = repository.commit(FILES);
  for (const changes of commits) desired = repository.commit(changes);
  return describeProblems(problemsAndRemarks(desired).filter(({ severity }) => severity === 'warning'));
}

describe('an object', () => {
  test.each<readonly [title: string, changes: TextChanges]>([
    ['that is selected', {}],
    ['that a compound level finds', { 'types/configuration/prod-lab.yaml': 'a: b\n' }],
    ['that is a layer of every node', { 'types/common/global.yaml': 'a: b\n' }],
    ['of a node of the tree', { 'types/location/lab.yaml': 'a: b\n', 'types/environment/prod.yaml': 'a: b\n' }],
    [
      'that a hand-written clientcert selects',
      { 'types/role/db.yaml': 'a: b\n', 'types/clientcert/x.yaml': 'role: db\n' },
    ],
    ['that is never selected', { 'types/action/a.yaml': 'a: b\n', 'types/stack-snapshot/s.yaml': 'a: b\n' }],
    ['that is a clientcert without a server', { 'types/clientcert/printer.yaml': 'a: b\n' }],
  ])('%s is no cause for a warning', (_title, changes) => {
    expect(remarks(changes)).toEqual([]);
  });

  test.each<readonly [title: string, path: string, warning: string]>([
    ['a role', 'types/role/database.yaml', 'no node selects the role "database" (select it, or remove it)'],
    [
      'a misspelt name',
      'types/configuration/prod-lba.yaml',
      'no node selects the configuration "prod-lba" (did you mean "prod-lab"?)',
    ],
    [
      'a node that is not in the tree',
      'types/environment/prdo.yaml',
      'no node selects the environment "prdo" (did you mean "prod"?)',
    ],
    [
      'a common object that is not named like the root',
      'types/common/glob.yaml',
      'no node selects the common object "glob" (did you mean "global"?)',
    ],
    [
      'a type without a level',
      'types/shape/small.yaml',
      'no node selects the shape "small": hierarchy.yaml has no level of that type (add the level, or remove the object)',
    ],
  ])('that no node selects is a warning: %s', (_title, path, warning) => {
    expect(remarks({ [path]: 'a: b\n' })).toEqual([expect.stringContaining(`:1:1 unused_object: ${warning}`)]);
  });

  test('is not called unused while an invalid instance may select it', () => {
    const wrong = { 'types/role/db.yaml': 'a: b\n', 'stacks/instances/db.yaml': 'stackTemplate: wbe\n' };
    expect(remarks(wrong)).toEqual([]);
    expect(remarks(wrong, { 'stacks/instances/db.yaml': null })).toHaveLength(1);
  });

  test('gets no suggestion after a hundred others', () => {
    const roles = Array.from({ length: 150 }, (_, i) => [`types/role/role0${i + 100}.yaml`, 'a: b\n']);
    const found = remarks({ 'types/clientcert/x.yaml': 'role: role012\n', ...Object.fromEntries(roles) });
    const unused = found.filter((text) => text.includes('unused_object'));
    expect(unused).toHaveLength(150);
    expect(unused.filter((text) => text.includes('did you mean'))).toHaveLength(100);
  });

  test('is not called unused if only an older active version selects it', () => {
    const TEMPLATE = 'stacks/templates/web.yaml';
    const other = {
      'types/role/db.yaml': 'a: b\n',
      [TEMPLATE]: String(FILES[TEMPLATE]).replace('role: web', 'role: db'),
    };
    const broken = { 'types/role/db.yaml': 'description: [wrong\n' };
    expect(remarks(other, broken)).toEqual([
      'warning web.yaml:1:1 unused_object: no node selects the role "web" (select it, or remove it)',
    ]);
  });
});

describe('a repository', () => {
  test('without a client, or without an administrator, is a warning', () => {
    const hint = '(add clients/<serial>.yaml with "role: administrator", where <serial> is that of your certificate)';
    const unregistered = new TextRepository().commit({ ...FILES, 'clients/A1.yaml': null });
    expect(problemsAndRemarks(unregistered)).toMatchObject([
      { code: 'no_administrator', severity: 'warning', file: 'clients' },
    ]);
    expect(describeProblems(problemsAndRemarks(unregistered))).toEqual([
      `warning clients:1:1 no_administrator: no client is registered, so the interface admits no client ${hint}`,
    ]);
    const proxies = new TextRepository().commit({ ...FILES, 'clients/A1.yaml': 'role: proxy\n' });
    expect(problemsAndRemarks(proxies)).toMatchObject([{ code: 'no_administrator' }]);
  });

  test('without an instance is one warning, whatever objects it has', () => {
    const desired = new TextRepository().commit({ ...FILES, 'stacks/instances/shop.yaml': null });
    expect(describeProblems(problemsAndRemarks(desired))).toEqual([
      'warning instances:1:1 no_instance: there is no stack instance, so no server is created (add stacks/instances/<name>.yaml with "stackTemplate:")',
    ]);
  });

  test('with warnings accepts writes, and repeats the same warnings', () => {
    const desired = new TextRepository().commit({ ...FILES, 'types/role/db.yaml': 'a: b\n' });
    expect(desired.problems).toEqual([]);
    expect(problemsAndRemarks(desired)).toBe(problemsAndRemarks(desired));
  });
});

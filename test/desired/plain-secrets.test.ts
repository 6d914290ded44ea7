import { describe, expect, test } from 'vitest';
import { describeProblems } from '../support/entries.ts';
import { TextRepository } from '../support/text-repository.ts';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\nchildren: [{ name: dmz, type: zone }]\n',
  'hierarchy.yaml': `order: [{ type: common }, { type: zone }, { type: role }]
secrets: { keys: ["_password$"], reference: "^secret/" }
`,
  'stacks/templates/web.yaml': `parameters: { password: "" }
resources:
  web:
    type: Platform::Server
    properties: { role: web, db_password: "<<password>>" }
`,
  'stacks/instances/shop.yaml': 'stackTemplate: web\nparameters: { password: secret/shop }\n',
  'types/role/web.yaml': 'packages: [nginx]\n',
};

const TEMPLATE = `resources:
  web:
    type: Platform::Server
    properties:
`;
const GROUP = `resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "0"
      resource_def:
        properties:
`;
const SAID = '"db_password" is not a reference to a secret';

describe('a secret in plain text', () => {
  test.each<readonly [title: string, path: string, text: string, place: string]>([
    ['in an object that no node selects', 'types/zone/lab.yaml', 'a: b\ndb_password: hunter2\n', '2:14'],
    ['in a list', 'types/zone/lab.yaml', 'db_password: [secret/a, hunter2]\n', '1:14'],
    ['as a number', 'types/role/other.yaml', 'db_password: 4711\n', '1:14'],
    ['in a snapshot', 'types/stack-snapshot/old.yaml', 'db_password: hunter2\n', '1:14'],
    ['in a compound layer', 'types/common/no-such.yaml', 'db_password: hunter2\n', '1:14'],
    ['in a template without instances', 'stacks/templates/x.yaml', `${TEMPLATE}      db_password: hunter2\n`, '5:20'],
    ['in a group without members', 'stacks/templates/x.yaml', `${GROUP}          db_password: "hunter2"\n`, '8:24'],
    [
      'in additions of an instance',
      'stacks/instances/other.yaml',
      'stackTemplate: web\nparameters: { password: secret/a }\nstackTemplateAdditions:\n  resources: { web: { properties: { db_password: hunter2 } } }\n',
      '4:50',
    ],
    [
      'in a parameter of an instance',
      'stacks/instances/other.yaml',
      'stackTemplate: web\nparameters: { password: hunter2 }\n',
      '2:25',
    ],
  ])('%s is an error at the value, which is not quoted', (_title, path, text, place) => {
    const repository = new TextRepository();
    repository.commit(FILES);
    const { problems } = repository.commit({ [path]: text });
    const [said, second] = problems.filter(({ code }) => code === 'secret_not_reference');
    expect(said).toMatchObject({ file: path, message: SAID });
    expect(`${said?.line}:${said?.column}`).toBe(place);
    expect(second).toBeUndefined();
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });

  test.each<readonly [title: string, path: string, text: string]>([
    ['a reference', 'types/zone/lab.yaml', 'db_password: secret/lab\n'],
    ['nothing', 'types/zone/lab.yaml', 'db_password: null\n'],
    [
      'a parameter without a default',
      'stacks/templates/x.yaml',
      `${TEMPLATE}      db_password: <<p>>\nparameters: { p: "" }\n`,
    ],
    [
      'a reference with a parameter',
      'stacks/templates/x.yaml',
      `${TEMPLATE}      db_password: secret/<<p>>\nparameters: { p: lab }\n`,
    ],
  ])('is not seen in %s', (_title, path, text) => {
    const repository = new TextRepository();
    repository.commit(FILES);
    expect(repository.commit({ [path]: text }).problems).toEqual([]);
  });

  test('keeps the last valid version until it is a reference', () => {
    const repository = new TextRepository();
    repository.commit({ ...FILES, 'types/zone/lab.yaml': 'db_password: secret/lab\n' });
    const wrong = repository.commit({ 'types/zone/lab.yaml': 'db_password: hunter2\n' });
    expect(wrong.objects.get('zone/lab')?.entry.object).toMatchObject({ db_password: 'secret/lab' });
    expect(repository.commit({ 'tree.yaml': `${FILES['tree.yaml']}# Another commit\n` }).problems).toHaveLength(1);
    const corrected = repository.commit({ 'types/zone/lab.yaml': 'db_password: secret/other\n' });
    expect(corrected.problems).toEqual([]);
    expect(corrected.objects.get('zone/lab')?.entry.object).toMatchObject({ db_password: 'secret/other' });
  });

  test('is judged again when hierarchy.yaml changes', () => {
    const repository = new TextRepository();
    repository.commit({ ...FILES, 'types/zone/lab.yaml': 'pin: "4711"\n' });
    const hierarchy = FILES['hierarchy.yaml'].replace('"_password$"', '"_password$", "^pin$"');
    const stricter = repository.commit({ 'hierarchy.yaml': hierarchy });
    expect(describeProblems(stricter.problems)).toHaveLength(1);
    expect(repository.commit({ 'hierarchy.yaml': FILES['hierarchy.yaml'] }).problems).toEqual([]);
  });
});

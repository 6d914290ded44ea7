// Tests that something else under the name of an object counts neither as the object nor as its removal.
import { describe, expect, it } from 'vitest';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { linkTo } from '../catalog/snapshots.ts';
import { describeProblems } from '../support/entries.ts';
import { explainedRecordOf } from '../support/explained-records.ts';
import { type TextChanges, TextRepository } from '../support/text-repository.ts';

const SHOP = 'stacks/instances/shop.yaml';
const GLOBAL = 'types/common/global.yaml';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\nchildren: [{ name: prod, type: environment }]\n',
  'hierarchy.yaml': 'merge: { packages: unique }\n',
  'stacks/templates/web.yaml':
    'resources: { web: { type: "Platform::Server", properties: { environment: prod, role: web } } }\n',
  'stacks/templates/plain.yaml': 'resources: { one: { type: "Platform::Server", properties: {} } }\n',
  [SHOP]: 'stackTemplate: web\n',
  'stacks/instances/eu/farm.yaml': 'stackTemplate: web\n',
  [GLOBAL]: 'ntp: a\nsite: general\n',
  'types/environment/prod.yaml': 'site: prod\n',
  'types/role/web.yaml': 'packages: [nginx]\n',
  'types/clientcert/lab.yaml': 'ip: 192.0.2.1\n',
  'clients/AA.yaml': 'role: administrator\n',
  'clients/BB.yaml': 'role: proxy\n',
};

function followed(): { repository: TextRepository; before: DesiredState } {
  const repository = new TextRepository();
  return { repository, before: repository.commit(FILES) };
}

/** What people and servers see: who makes what, and every record. */
function seen(desired: DesiredState) {
  const names = ['shop-web', 'farm-web', 'lab'];
  return { owners: [...desired.owners].sort(), records: names.map((name) => explainedRecordOf(desired, name)) };
}

function errorsIn(desired: DesiredState): string[] {
  return desired.problems.filter(({ severity }) => severity === 'error').map(({ file, code }) => `${file} ${code}`);
}

/** What may stand where a file was, by what it is called. */
function inPlaceOf(path: string): readonly (readonly [what: string, changes: TextChanges, error: string])[] {
  const stem = path.slice(0, -'.yaml'.length);
  const folder = path.slice(0, path.lastIndexOf('/'));
  const base = path.slice(folder.length + 1);
  const inFolder = Object.keys(FILES).filter((file) => file.startsWith(`${folder}/`));
  const withoutFolder = Object.fromEntries(inFolder.map((file) => [file, null]));
  return [
    ['a symbolic link', { [path]: linkTo('elsewhere.yaml') }, `${path} not_a_file`],
    ['a submodule', { [path]: linkTo('1'.repeat(40), '160000') }, `${path} not_a_file`],
    ['a folder', { [path]: null, [`${path}/README`]: 'x' }, `${path} unreadable_object`],
    ['.yml', { [path]: null, [`${stem}.yml`]: 'a: 1\n' }, `${stem}.yml wrong_extension`],
    ['.YAML', { [path]: null, [`${stem}.YAML`]: 'a: 1\n' }, `${stem}.YAML wrong_extension`],
    ...['yamll', 'yaml2', 'ymal', 'yam', 'yanl', 'yml1', 'YAMLL'].map(
      (slip) =>
        [`.${slip}`, { [path]: null, [`${stem}.${slip}`]: 'a: 1\n' }, `${stem}.${slip} unreadable_object`] as const,
    ),
    ['a blank after the extension', { [path]: null, [`${path} `]: 'a: 1\n' }, `${path}  unreadable_object`],
    ['a dot before the name', { [path]: null, [`${folder}/.${base}`]: 'a: 1\n' }, `${folder}/.${base} bad_name`],
    ['a copy of an editor', { [path]: null, [`${path}~`]: 'a: 1\n' }, `${path}~ unreadable_object`],
    ['a backup', { [path]: null, [`${path}.bak`]: 'a: 1\n' }, `${path}.bak unreadable_object`],
    ['a link in place of its folder', { ...withoutFolder, [folder]: linkTo('there') }, `${folder} not_a_file`],
    ['a file in place of its folder', { ...withoutFolder, [folder]: 'there' }, `${folder} unreadable_object`],
  ];
}

describe.each([
  ['the most general layer', GLOBAL, ['farm', 'shop']],
  ['a layer that a node of the tree does not need', 'types/environment/prod.yaml', ['farm', 'shop']],
  ['a template', 'stacks/templates/web.yaml', ['farm', 'shop']],
])('an unreadable path in place of %s', (_object, path, invalid) => {
  it.each(inPlaceOf(path))('%s leaves everything as it is, with an error', (_what, changes, error) => {
    const { repository, before } = followed();
    const after = repository.commit(changes);
    expect(seen(after)).toEqual(seen(before));
    expect(errorsIn(after)).toEqual(expect.arrayContaining([expect.stringContaining(error)]));
    expect([...after.invalid]).toEqual(expect.arrayContaining(invalid));
    const later = repository.commit({ 'types/zone/z.yaml': 'a: 1\n' });
    expect({ ...seen(later), errors: errorsIn(later) }).toEqual({ ...seen(before), errors: errorsIn(after) });
  });
});

describe('an object that cannot be read', () => {
  it('gets a problem that names the file, the consequence and the remedy', () => {
    const { repository } = followed();
    const after = repository.commit({ [GLOBAL]: null, 'types/common/global.yml': 'ntp: b\n' });
    expect(describeProblems(after.problems)).toEqual([
      'global.yml:1:1 wrong_extension: a file ending in ".yml" is not read (rename it to types/common/global.yaml; until then the object stays as it is; to remove it, remove this path too) [farm, shop]',
    ]);
  });

  it('gets one problem for a link in place of a folder', () => {
    const { repository } = followed();
    const folder = Object.keys(FILES).filter((file) => file.startsWith('types/'));
    const after = repository.commit({ ...Object.fromEntries(folder.map((file) => [file, null])), types: linkTo('x') });
    expect(after.problems.map(({ file, instances }) => [file, instances])).toEqual([['types', ['farm', 'shop']]]);
  });

  it('keeps its active version: a clientcert, a template, a typed object', () => {
    const { repository, before } = followed();
    const after = repository.commit({ 'types/clientcert/lab.yaml': linkTo('x'), 'types/role/web.yaml': linkTo('x') });
    expect(seen(after)).toEqual(seen(before));
    expect(after.objects.get('role/web')).toEqual(before.objects.get('role/web'));
  });

  it('is removed by a commit that leaves nothing under its name', () => {
    const { repository } = followed();
    repository.commit({ [GLOBAL]: null, 'types/common/global.yml': '' });
    const after = repository.commit({ 'types/common/global.yml': null });
    expect([after.objects.has('common/global'), errorsIn(after)]).toEqual([false, []]);
  });

  it('exists only if it was active: otherwise another spelling is a warning', () => {
    const { repository } = followed();
    const after = repository.commit({ 'stacks/instances/new.yml': '', 'stacks/instances/shop.yml': '' });
    expect(after.problems.map(({ severity, code }) => `${severity} ${code}`)).toEqual([
      'warning wrong_extension',
      'warning wrong_extension',
    ]);
  });

  it('registers no client, but keeps the last administrator', () => {
    const { repository } = followed();
    const after = repository.commit({
      'clients/BB.yaml': linkTo('x'),
      'clients/AA.yaml': null,
      'clients/aa.yaml': 'role: administrator\n',
    });
    expect([...after.clients.keys()]).toEqual(['AA']);
    expect(errorsIn(after)).toEqual([
      'clients/AA.yaml last_administrator',
      'clients/BB.yaml not_a_file',
      'clients/aa.yaml client_file_name',
    ]);
  });

  it.each([
    ['hierarchy.yml', { 'hierarchy.yaml': null, 'hierarchy.yml': FILES['hierarchy.yaml'] }],
    ['hierarchy.yaml~', { 'hierarchy.yaml': null, 'hierarchy.yaml~': FILES['hierarchy.yaml'] }],
    ['.hierarchy.yaml', { 'hierarchy.yaml': null, '.hierarchy.yaml': FILES['hierarchy.yaml'] }],
    ['a folder called hierarchy.yaml', { 'hierarchy.yaml': null, 'hierarchy.yaml/x': '' }],
    ['a link to it', { 'hierarchy.yaml': linkTo('x') }],
    ['tree.yml', { 'tree.yaml': null, 'tree.yml': FILES['tree.yaml'] }],
  ])('stops the whole commit where it is %s', (_what, changes) => {
    const { repository } = followed();
    expect(repository.refused(changes).some(({ severity }) => severity === 'error')).toBe(true);
  });

  it('does not stop a commit that removes hierarchy.yaml, or that never had it', () => {
    const { repository } = followed();
    expect(repository.commit({ 'hierarchy.yaml': null }).hasHierarchy).toBe(false);
    expect(errorsIn(repository.commit({ 'hierarchy.yml': 'merge: {}\n' }))).toEqual([]);
  });
});

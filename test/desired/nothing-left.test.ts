import { describe, expect, test } from 'vitest';
import { loadCatalog } from '../../src/catalog/load-catalog.ts';
import { nothingLeft } from '../../src/desired/active-versions.ts';
import { snapshotOf } from '../catalog/snapshots.ts';
import { describeProblems } from '../support/entries.ts';
import { TextRepository } from '../support/text-repository.ts';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'types/role/web.yaml': 'port: 80\n',
  'types/clientcert/lab.yaml': 'role: web\n',
  'stacks/templates/t.yaml': 'resources: { a: { type: "Platform::Server", properties: {} } }\n',
  'stacks/instances/shop.yaml': 'stackTemplate: t\n',
  'clients/AA.yaml': 'role: administrator\n',
  'clients/BB.yaml': 'role: proxy\n',
};

function followed(): TextRepository {
  const repository = new TextRepository();
  repository.commit(FILES);
  return repository;
}

describe('a commit is held', () => {
  test('that leaves no instance', () => {
    expect(describeProblems(followed().refused({ 'stacks/instances/shop.yaml': null }))).toEqual([
      'instances:1:1 nothing_left: no stack instance would be left after this commit, so it is held and everything stays as it is (revert the commit, bring one back, or let it happen: "treeline held" shows the command) []',
    ]);
  });

  test.each([2, 1])('that leaves none of %i clients', (count) => {
    const repository = followed();
    if (count === 1) repository.commit({ 'clients/BB.yaml': null });
    expect(describeProblems(repository.refused({ 'clients/AA.yaml': null, 'clients/BB.yaml': null }))).toEqual([
      'clients:1:1 nothing_left: no client would be left after this commit, so it is held and everything stays as it is (revert the commit, bring one back, or let it happen: "treeline held" shows the command) []',
    ]);
  });

  test('although its other files are valid, and shows their problems', () => {
    const problems = followed().refused({ 'stacks/instances/shop.yaml': null, 'types/role/db.yaml': 'port: {}\n' });
    expect(problems.map(({ code }) => code)).toEqual(['nothing_left', 'wrong_type']);
  });
});

describe('a commit that an operator accepted', () => {
  const accepted = { isAccepted: true };

  test('is followed if no instance is left', () => {
    const desired = followed().commit({ 'stacks/instances/shop.yaml': null }, accepted);
    expect([desired.owners.size, desired.problems]).toEqual([0, []]);
  });

  test('that leaves no instance does not hold a later commit while its deletes wait', () => {
    const before = followed().commit({});
    const later = { ...before, places: loadCatalog(snapshotOf({ 'tree.yaml': '' })).places, clients: new Map() };
    expect(before.units.size).toBeGreaterThan(0);
    const catalog = loadCatalog(snapshotOf({ 'tree.yaml': '' }));
    expect(nothingLeft(catalog, later)).toBeUndefined();
    // Without the paths of the commit before, as after its loss, the active instances count.
    expect(nothingLeft(catalog, { ...later, places: new Map() })).toMatchObject({ file: 'stacks/instances' });
  });

  test('is followed if no client is left, and keeps the last administrator', () => {
    const desired = followed().commit({ 'clients/AA.yaml': null, 'clients/BB.yaml': null }, accepted);
    expect([...desired.clients.keys()]).toEqual(['AA']);
    expect(desired.problems.map(({ code }) => code)).toEqual(['last_administrator']);
  });

  test.each([accepted, {}])('is not followed if no file is left, and nobody is asked to accept it', (before) => {
    const nothing = Object.fromEntries(Object.keys(FILES).map((path) => [path, null]));
    const derivation = followed().try(nothing, before);
    expect(derivation).toMatchObject({ isFollowed: false, problems: [{ code: 'tree_missing' }] });
    expect(derivation).toMatchObject({ nothingLeft: undefined });
  });
});

describe('a commit is followed', () => {
  test('that restores what was removed', () => {
    const repository = followed();
    repository.refused({ 'stacks/instances/shop.yaml': null });
    expect([...repository.commit({ 'stacks/instances/other.yaml': 'stackTemplate: t\n' }).owners]).toEqual([
      ['other-a', 'stack-instance/other'],
    ]);
  });

  test('that leaves one instance, even an invalid one', () => {
    const desired = followed().commit({ 'stacks/instances/shop.yaml': 'stackTemplate: none\n' });
    expect([...desired.owners.keys()]).toEqual(['shop-a']);
  });

  test('that leaves one client, even an invalid one', () => {
    const desired = followed().commit({ 'clients/AA.yaml': 'role: none\n', 'clients/BB.yaml': null });
    expect([...desired.clients.keys()]).toEqual(['AA']);
  });

  test('that has no client if there never was one', () => {
    const desired = new TextRepository().commit({ 'tree.yaml': FILES['tree.yaml'] });
    expect(desired.problems).toEqual([]);
    expect(desired.units.size).toBe(0);
  });
});

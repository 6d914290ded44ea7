import { describe, expect, test } from 'vitest';
import type { Estate } from '../../src/estate/estate.ts';
import { describeProblems } from '../support/entries.ts';
import { type TextChanges, TextRepository } from '../support/text-repository.ts';

const BASE = { 'tree.yaml': 'name: global\ntype: common\n' };
const ADMIN = 'description: A\nrole: administrator\n';
const PROXY = 'role: proxy\n';
const WRONG = 'role: adminstrator\n';

function file(serial: string): string {
  return `clients/${serial}.yaml`;
}

/** Commits client files by serial, one commit after another; returns the last estate. */
function follow(...commits: readonly TextChanges[]): Estate {
  const repository = new TextRepository();
  let estate = repository.commit(BASE);
  for (const clients of commits) {
    estate = repository.commit(
      Object.fromEntries(Object.entries(clients).map(([serial, text]) => [file(serial), text])),
    );
  }
  return estate;
}

function rolesIn({ clients }: Estate): string[] {
  return [...clients].map(([serial, { entry }]) => `${serial} ${entry.object?.role}`).sort();
}

describe('who is registered', () => {
  test('every right file, at once', () => {
    const estate = follow({ AA: ADMIN, BB: PROXY });
    expect(rolesIn(estate)).toEqual(['AA administrator', 'BB proxy']);
    expect(estate.clients.get('AA')?.commit).toBe(estate.commit);
  });

  test('nobody whose file is removed', () => {
    expect(rolesIn(follow({ AA: ADMIN, BB: PROXY }, { BB: null }))).toEqual(['AA administrator']);
  });

  test('nobody whose file is wrong, whatever it said before', () => {
    const estate = follow({ AA: ADMIN, BB: PROXY, CC: ADMIN }, { BB: 'role: prxy\n', CC: WRONG });
    expect(rolesIn(estate)).toEqual(['AA administrator']);
    expect(estate.problems.map(({ file: path, code }) => `${path} ${code}`)).toEqual([
      'clients/BB.yaml wrong_value',
      'clients/CC.yaml wrong_value',
    ]);
  });

  test('also where a stack of the same commit is wrong', () => {
    const repository = new TextRepository();
    const estate = repository.commit({ ...BASE, 'stacks/instances/a.yaml': 'a: b: c\n', [file('AA')]: ADMIN });
    expect(rolesIn(estate)).toEqual(['AA administrator']);
  });

  test('a repository that never had an administrator needs none', () => {
    const estate = follow({ BB: PROXY });
    expect(rolesIn(estate)).toEqual(['BB proxy']);
    expect(estate.problems).toEqual([]);
  });
});

describe('the last administrator stays', () => {
  test.each<[string, string | null]>([
    ['when removed', null],
    ['when demoted', PROXY],
    ['when made wrong', WRONG],
  ])('%s', (_how, text) => {
    const estate = follow({ AA: ADMIN, BB: PROXY }, { AA: text });
    expect(rolesIn(estate)).toEqual(['AA administrator', 'BB proxy']);
    expect(estate.clients.get('AA')?.entry.object?.description).toBe('A');
    expect(estate.clients.get('AA')?.commit).toBe('commit 2');
    const problem = estate.problems.find(({ code }) => code === 'last_administrator');
    expect(describeProblems(problem === undefined ? [] : [problem])).toEqual([
      expect.stringMatching(
        /^AA\.yaml:\d:\d+ last_administrator: no administrator would be left; the client AA stays one \(register another administrator first\)$/,
      ),
    ]);
  });

  test('where one commit takes all of them, all stay', () => {
    const estate = follow({ AA: ADMIN, BB: ADMIN, CC: PROXY }, { AA: null, BB: PROXY });
    expect(rolesIn(estate)).toEqual(['AA administrator', 'BB administrator', 'CC proxy']);
    expect(estate.problems.map(({ file: path, code }) => `${path} ${code}`)).toEqual([
      'clients/AA.yaml last_administrator',
      'clients/BB.yaml last_administrator',
    ]);
  });

  test('with each further commit, until there is another one', () => {
    expect(rolesIn(follow({ AA: ADMIN, BB: PROXY }, { AA: null }, { CC: PROXY }))).toEqual([
      'AA administrator',
      'BB proxy',
      'CC proxy',
    ]);
    const estate = follow({ AA: ADMIN, BB: PROXY }, { AA: null }, { CC: ADMIN });
    expect(rolesIn(estate)).toEqual(['BB proxy', 'CC administrator']);
    expect(estate.problems).toEqual([]);
  });

  test('but not the last but one', () => {
    const estate = follow({ AA: ADMIN, BB: ADMIN }, { AA: null });
    expect(rolesIn(estate)).toEqual(['BB administrator']);
    expect(estate.problems).toEqual([]);
  });

  test('and may hand over in one commit', () => {
    expect(rolesIn(follow({ AA: ADMIN }, { AA: null, BB: ADMIN }))).toEqual(['BB administrator']);
  });
});

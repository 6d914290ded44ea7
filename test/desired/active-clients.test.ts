import { describe, expect, test } from 'vitest';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { describeProblems } from '../support/entries.ts';
import { type TextChanges, TextRepository } from '../support/text-repository.ts';

const BASE = { 'tree.yaml': 'name: global\ntype: common\n' };
const ADMIN = 'description: A\nrole: administrator\n';
const PROXY = 'role: proxy\n';
const WRONG = 'role: adminstrator\n';

function file(serial: string): string {
  return `clients/${serial}.yaml`;
}

/** Commits client files by serial, one commit after another; returns the last desired state. */
function follow(...commits: readonly TextChanges[]): DesiredState {
  const repository = new TextRepository();
  let desired = repository.commit(BASE);
  for (const clients of commits) {
    desired = repository.commit(
      Object.fromEntries(Object.entries(clients).map(([serial, text]) => [file(serial), text])),
    );
  }
  return desired;
}

function rolesIn({ clients }: DesiredState): string[] {
  return [...clients].map(([serial, { entry }]) => `${serial} ${entry.object?.role}`).sort();
}

describe('who is registered', () => {
  test('every right file, at once', () => {
    const desired = follow({ AA: ADMIN, BB: PROXY });
    expect(rolesIn(desired)).toEqual(['AA administrator', 'BB proxy']);
    expect(desired.clients.get('AA')?.commit).toBe(desired.commit);
  });

  test('nobody whose file is removed', () => {
    expect(rolesIn(follow({ AA: ADMIN, BB: PROXY }, { BB: null }))).toEqual(['AA administrator']);
  });

  test('nobody whose file is wrong, whatever it said before', () => {
    const desired = follow({ AA: ADMIN, BB: PROXY, CC: ADMIN }, { BB: 'role: prxy\n', CC: WRONG });
    expect(rolesIn(desired)).toEqual(['AA administrator']);
    expect(desired.problems.map(({ file: path, code }) => `${path} ${code}`)).toEqual([
      'clients/BB.yaml wrong_value',
      'clients/CC.yaml wrong_value',
    ]);
  });

  test('also where a stack of the same commit is wrong', () => {
    const repository = new TextRepository();
    const desired = repository.commit({ ...BASE, 'stacks/instances/a.yaml': 'a: b: c\n', [file('AA')]: ADMIN });
    expect(rolesIn(desired)).toEqual(['AA administrator']);
  });

  test.each(['node: web-1\n', 'writes: none\n', 'tenant: shop\n'])(
    'no commit leaves only administrators with %s',
    (less) => {
      const desired = follow({ AA: ADMIN, BB: `${ADMIN}${less}` }, { AA: `${ADMIN}${less}` });
      expect(desired.clients.get('AA')?.entry.object).toMatchObject({ role: 'administrator', tenant: '' });
      expect(desired.clients.get('AA')?.entry.object).not.toHaveProperty(
        less.split(':')[0] === 'node' ? 'node' : 'writes',
      );
      expect(desired.problems.map(({ file: path, code }) => `${path} ${code}`)).toContain(
        'clients/AA.yaml last_administrator',
      );
    },
  );

  test('one who reads its site only is an administrator', () => {
    const desired = follow({ AA: ADMIN }, { AA: `${ADMIN}reads: site\n` });
    expect(desired.clients.get('AA')?.entry.object).toMatchObject({ reads: 'site' });
    expect(desired.problems).toEqual([]);
  });

  test('a repository that never had an administrator needs none', () => {
    const desired = follow({ BB: PROXY });
    expect(rolesIn(desired)).toEqual(['BB proxy']);
    expect(desired.problems).toEqual([]);
  });
});

describe('the last administrator stays', () => {
  test.each<[string, string | null]>([
    ['when removed', null],
    ['when demoted', PROXY],
    ['when made wrong', WRONG],
  ])('%s', (_how, text) => {
    const desired = follow({ AA: ADMIN, BB: PROXY }, { AA: text });
    expect(rolesIn(desired)).toEqual(['AA administrator', 'BB proxy']);
    expect(desired.clients.get('AA')?.entry.object?.description).toBe('A');
    expect(desired.clients.get('AA')?.commit).toBe('commit 2');
    const problem = desired.problems.find(({ code }) => code === 'last_administrator');
    expect(describeProblems(problem === undefined ? [] : [problem])).toEqual([
      expect.stringMatching(
        /^AA\.yaml:\d:\d+ last_administrator: no administrator would be left; the client AA stays one \(register another administrator first\)$/,
      ),
    ]);
  });

  test('where one commit takes all of them, all stay', () => {
    const desired = follow({ AA: ADMIN, BB: ADMIN, CC: PROXY }, { AA: null, BB: PROXY });
    expect(rolesIn(desired)).toEqual(['AA administrator', 'BB administrator', 'CC proxy']);
    expect(desired.problems.map(({ file: path, code }) => `${path} ${code}`)).toEqual([
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
    const desired = follow({ AA: ADMIN, BB: PROXY }, { AA: null }, { CC: ADMIN });
    expect(rolesIn(desired)).toEqual(['BB proxy', 'CC administrator']);
    expect(desired.problems).toEqual([]);
  });

  test('but not the last but one', () => {
    const desired = follow({ AA: ADMIN, BB: ADMIN }, { AA: null });
    expect(rolesIn(desired)).toEqual(['BB administrator']);
    expect(desired.problems).toEqual([]);
  });

  test('and may hand over in one commit', () => {
    expect(rolesIn(follow({ AA: ADMIN }, { AA: null, BB: ADMIN }))).toEqual(['BB administrator']);
  });
});

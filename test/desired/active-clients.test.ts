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

function placesOf({ problems }: DesiredState): string[] {
  return problems.map(({ file: path, code }) => `${path} ${code}`);
}

const LAST = 'last_administrator';
const BOTH = { AA: ADMIN, BB: PROXY };

test.each<[name: string, commits: readonly TextChanges[], roles: readonly string[], problems?: readonly string[]]>([
  ['every valid file registers a client', [BOTH], ['AA administrator', 'BB proxy']],
  ['a removed file registers nobody', [BOTH, { BB: null }], ['AA administrator']],
  [
    'an invalid file registers nobody, even if it was valid before',
    [
      { AA: ADMIN, BB: PROXY, CC: ADMIN },
      { BB: 'role: prxy\n', CC: WRONG },
    ],
    ['AA administrator'],
    ['clients/BB.yaml wrong_value', 'clients/CC.yaml wrong_value'],
  ],
  ['a repository that never had an administrator needs none', [{ BB: PROXY }], ['BB proxy']],
  [
    'all administrators stay if one commit takes all of them',
    [
      { AA: ADMIN, BB: ADMIN, CC: PROXY },
      { AA: null, BB: PROXY },
    ],
    ['AA administrator', 'BB administrator', 'CC proxy'],
    [`clients/AA.yaml ${LAST}`, `clients/BB.yaml ${LAST}`],
  ],
  [
    'the last administrator stays with each further commit',
    [BOTH, { AA: null }, { CC: PROXY }],
    ['AA administrator', 'BB proxy', 'CC proxy'],
    [`clients/AA.yaml ${LAST}`],
  ],
  [
    'the last administrator is removed once another one is registered',
    [BOTH, { AA: null }, { CC: ADMIN }],
    ['BB proxy', 'CC administrator'],
  ],
  ['one of two administrators can be removed', [{ AA: ADMIN, BB: ADMIN }, { AA: null }], ['BB administrator']],
  ['one commit can replace the administrator', [{ AA: ADMIN }, { AA: null, BB: ADMIN }], ['BB administrator']],
])('%s', (_name, commits, roles, problems = []) => {
  const desired = follow(...commits);
  expect(rolesIn(desired)).toEqual(roles);
  expect(placesOf(desired)).toEqual(problems);
});

describe('a client file', () => {
  test('registers a client although an instance of the commit is invalid', () => {
    const repository = new TextRepository();
    const desired = repository.commit({ ...BASE, 'stacks/instances/a.yaml': 'a: b: c\n', [file('AA')]: ADMIN });
    expect(rolesIn(desired)).toEqual(['AA administrator']);
  });

  test.each(['node: web-1\n', 'writes: none\n', 'tenant: shop\n'])(
    'cannot limit the last full administrator with %s',
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

  test('with "reads: site" counts as an administrator', () => {
    const desired = follow({ AA: ADMIN }, { AA: `${ADMIN}reads: site\n` });
    expect(desired.clients.get('AA')?.entry.object).toMatchObject({ reads: 'site' });
    expect(desired.problems).toEqual([]);
  });
});

test('the last administrator keeps its last valid version, and the problem names the remedy', () => {
  const desired = follow(BOTH, { AA: WRONG });
  expect(desired.clients.get('AA')).toMatchObject({ entry: { object: { description: 'A' } }, commit: 'commit 2' });
  expect(describeProblems(desired.problems.filter(({ code }) => code === LAST))).toEqual([
    expect.stringMatching(
      /^AA\.yaml:\d:\d+ last_administrator: no administrator would be left; the client AA stays one \(register another administrator first\)$/,
    ),
  ]);
});

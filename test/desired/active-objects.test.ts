import { describe, expect, test } from 'vitest';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { type TextChanges, TextRepository } from '../support/text-repository.ts';

const TREE = { 'tree.yaml': 'name: global\ntype: common\n' };

function follow(...commits: readonly TextChanges[]): DesiredState {
  const repository = new TextRepository();
  let desired = repository.commit(TREE);
  for (const changes of commits) desired = repository.commit(changes);
  return desired;
}

function activeVersionOf(desired: DesiredState, address: string): readonly unknown[] | undefined {
  const kept = desired.objects.get(address);
  return kept === undefined ? undefined : [kept.entry.object, kept.commit];
}

const ROLE = 'types/role/web.yaml';
const TEMPLATE = 'stacks/templates/t.yaml';

test.each<[name: string, texts: readonly (string | null)[], active: readonly unknown[] | undefined]>([
  ['is active at once', ['port: 80\n', 'port: 81\n'], [81, 'commit 3']],
  ['answers its last valid version while it is wrong', ['port: 80\n', 'port: {}\n', 'port: [[]]\n'], [80, 'commit 2']],
  ['is active again once it is corrected', ['port: 80\n', 'port: {}\n', 'port: 82\n'], [82, 'commit 4']],
  ['does not exist if it was never valid', ['port: {}\n'], undefined],
  ['is gone if it is removed while it was wrong', ['port: 80\n', 'port: {}\n', null], undefined],
  ['with only a warning is valid', ['port: 1.10\n'], [1.1, 'commit 2']],
])('a typed object %s', (_name, texts, active) => {
  const desired = follow(...texts.map((text) => ({ [ROLE]: text })));
  const [port, commit] = active ?? [];
  const object = { name: 'web', type: 'role', description: '', port };
  expect(activeVersionOf(desired, 'role/web')).toEqual(active && [object, commit]);
});

describe('a template', () => {
  const RIGHT = 'description: First\nresources: { a: { type: "Platform::Server", properties: { zone: x } } }\n';

  test('is an active unit under its type', () => {
    expect(activeVersionOf(follow({ [TEMPLATE]: RIGHT }), 'stack-template/t')).toMatchObject([
      { name: 't', description: 'First' },
      'commit 2',
    ]);
  });

  test.each([
    ['no YAML', 'a: b: c\n'],
    ['a mistake in a field', 'resourcess: {}\n'],
    ['a mistake that only expansion finds', RIGHT.replace('zone: x', 'zone: "<<nowhere>>"')],
  ])('with %s answers its last right version', (_what, text) => {
    const desired = follow({ [TEMPLATE]: RIGHT }, { [TEMPLATE]: text });
    expect(desired.problems.length).toBeGreaterThan(0);
    expect(activeVersionOf(desired, 'stack-template/t')).toMatchObject([{ description: 'First' }, 'commit 2']);
  });
});

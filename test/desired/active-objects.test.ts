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

describe('a typed object', () => {
  test('that is right is in force at once', () => {
    const desired = follow({ [ROLE]: 'port: 80\n' }, { [ROLE]: 'port: 81\n' });
    expect(activeVersionOf(desired, 'role/web')).toEqual([
      { name: 'web', type: 'role', description: '', port: 81 },
      'commit 3',
    ]);
  });

  test('that is wrong answers its last right version, for as long as it is wrong', () => {
    const desired = follow({ [ROLE]: 'port: 80\n' }, { [ROLE]: 'port: {}\n' }, { [ROLE]: 'port: [[]]\n' });
    expect(activeVersionOf(desired, 'role/web')).toMatchObject([{ port: 80 }, 'commit 2']);
  });

  test('that is corrected is in force again', () => {
    const desired = follow({ [ROLE]: 'port: 80\n' }, { [ROLE]: 'port: {}\n' }, { [ROLE]: 'port: 82\n' });
    expect(activeVersionOf(desired, 'role/web')).toMatchObject([{ port: 82 }, 'commit 4']);
  });

  test('that was never right is not there', () => {
    expect(activeVersionOf(follow({ [ROLE]: 'port: {}\n' }), 'role/web')).toBe(undefined);
  });

  test('that is removed is gone, also where it was kept', () => {
    const desired = follow({ [ROLE]: 'port: 80\n' }, { [ROLE]: 'port: {}\n' }, { [ROLE]: null });
    expect(activeVersionOf(desired, 'role/web')).toBe(undefined);
  });

  test('with a warning only is right', () => {
    const desired = follow({ [ROLE]: 'version: 1.10\n' });
    expect(desired.problems.map(({ code, severity }) => [code, severity])).toEqual([['number_spelling', 'warning']]);
    expect(activeVersionOf(desired, 'role/web')).toMatchObject([{ version: 1.1 }, 'commit 2']);
  });
});

describe('a template', () => {
  const RIGHT = 'description: First\nresources: { a: { type: "Platform::Server", properties: { zone: x } } }\n';

  test('is in force under its type', () => {
    expect(activeVersionOf(follow({ [TEMPLATE]: RIGHT }), 'stack-template/t')).toMatchObject([
      { name: 't', description: 'First' },
      'commit 2',
    ]);
  });

  test.each([
    ['no YAML', 'a: b: c\n'],
    ['a mistake in a field', 'resourcess: {}\n'],
    ['a mistake that only its expansion shows', RIGHT.replace('zone: x', 'zone: "<<nowhere>>"')],
  ])('with %s answers its last right version', (_what, text) => {
    const desired = follow({ [TEMPLATE]: RIGHT }, { [TEMPLATE]: text });
    expect(desired.problems.length).toBeGreaterThan(0);
    expect(activeVersionOf(desired, 'stack-template/t')).toMatchObject([{ description: 'First' }, 'commit 2']);
  });
});

import { describe, expect, test } from 'vitest';
import type { Estate } from '../../src/estate/estate.ts';
import { type TextChanges, TextRepository } from '../support/text-repository.ts';

const TREE = { 'tree.yaml': 'name: global\ntype: common\n' };

function follow(...commits: readonly TextChanges[]): Estate {
  const repository = new TextRepository();
  let estate = repository.commit(TREE);
  for (const changes of commits) estate = repository.commit(changes);
  return estate;
}

function inForce(estate: Estate, address: string): readonly unknown[] | undefined {
  const kept = estate.objects.get(address);
  return kept === undefined ? undefined : [kept.entry.object, kept.commit];
}

const ROLE = 'types/role/web.yaml';
const TEMPLATE = 'stacks/templates/t.yaml';

describe('a typed object', () => {
  test('that is right is in force at once', () => {
    const estate = follow({ [ROLE]: 'port: 80\n' }, { [ROLE]: 'port: 81\n' });
    expect(inForce(estate, 'role/web')).toEqual([{ name: 'web', type: 'role', description: '', port: 81 }, 'commit 3']);
  });

  test('that is wrong answers its last right version, for as long as it is wrong', () => {
    const estate = follow({ [ROLE]: 'port: 80\n' }, { [ROLE]: 'port: {}\n' }, { [ROLE]: 'port: [[]]\n' });
    expect(inForce(estate, 'role/web')).toMatchObject([{ port: 80 }, 'commit 2']);
  });

  test('that is mended is in force again', () => {
    const estate = follow({ [ROLE]: 'port: 80\n' }, { [ROLE]: 'port: {}\n' }, { [ROLE]: 'port: 82\n' });
    expect(inForce(estate, 'role/web')).toMatchObject([{ port: 82 }, 'commit 4']);
  });

  test('that was never right is not there', () => {
    expect(inForce(follow({ [ROLE]: 'port: {}\n' }), 'role/web')).toBe(undefined);
  });

  test('that is removed is gone, also where it was kept', () => {
    const estate = follow({ [ROLE]: 'port: 80\n' }, { [ROLE]: 'port: {}\n' }, { [ROLE]: null });
    expect(inForce(estate, 'role/web')).toBe(undefined);
  });

  test('with a warning only is right', () => {
    const estate = follow({ [ROLE]: 'version: 1.10\n' });
    expect(estate.problems.map(({ code, severity }) => [code, severity])).toEqual([['number_spelling', 'warning']]);
    expect(inForce(estate, 'role/web')).toMatchObject([{ version: 1.1 }, 'commit 2']);
  });
});

describe('a template', () => {
  const RIGHT = 'description: First\nresources: { a: { type: "Platform::Server", properties: { zone: x } } }\n';

  test('is in force under its type', () => {
    expect(inForce(follow({ [TEMPLATE]: RIGHT }), 'stack-template/t')).toMatchObject([
      { name: 't', description: 'First' },
      'commit 2',
    ]);
  });

  test.each([
    ['no YAML', 'a: b: c\n'],
    ['a mistake in a field', 'resourcess: {}\n'],
    ['a mistake that only its expansion shows', RIGHT.replace('zone: x', 'zone: "<<nowhere>>"')],
  ])('with %s answers its last right version', (_what, text) => {
    const estate = follow({ [TEMPLATE]: RIGHT }, { [TEMPLATE]: text });
    expect(estate.problems.length).toBeGreaterThan(0);
    expect(inForce(estate, 'stack-template/t')).toMatchObject([{ description: 'First' }, 'commit 2']);
  });
});

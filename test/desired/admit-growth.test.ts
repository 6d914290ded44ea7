// Tests that deletes are judged in linear time, that an invalid unit is not built again without a change, and what hints cost.
import { describe, expect, it } from 'vitest';
import { judgeDeletions } from '../../src/desired/deletions.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { deletionFacts } from './facts.ts';
import { instanceFile, stacksRepository } from './stacks.ts';

describe('judgeDeletions', () => {
  it('reads the removals of an instance once', () => {
    const readsFor = (size: number): number => {
      let reads = 0;
      const removals = Array.from({ length: size }, (_, index) => ({
        incarnation: 1,
        get server() {
          reads += 1;
          return `going-${index}`;
        },
      }));
      const removed = new Map([['a', removals.map((_, index) => `leaving-${index}`)]]);
      judgeDeletions(
        {
          removed,
          versionsFor: () => ({ specOf: () => undefined, retains: () => false, isPinned: () => false }),
          holdOf: () => undefined,
          receiversOf: () => [],
        },
        deletionFacts({ underWay: new Map([['a', removals]]) }),
      );
      return reads;
    };
    expect(readsFor(2_000) / readsFor(1_000)).toBeLessThan(2.5);
  });
});

describe('an invalid unit', () => {
  const TEMPLATE = 'resources: { a: { type: "Platform::Server", properties: { role: web } } }\n';

  it('is not built again while its inputs are unchanged, but its hint follows the existing names', () => {
    const repository = stacksRepository();
    const files = Array.from({ length: 50 }, (_, index) => [instanceFile(`i${index}`), 'stackTemplate: wbe\n']);
    repository.commit({ 'stacks/templates/web.yaml': TEMPLATE, ...Object.fromEntries(files) });
    const hints = (desired: DesiredState) => new Set(desired.problems.map(({ hint }) => hint));
    const next = repository.commit({ 'types/zone/z.yaml': 'a: 1\n' });
    expect([next.counts.instancesExpanded, [...hints(next)]]).toEqual([0, ['did you mean "web"?']]);
    const renamed = repository.commit({ 'stacks/templates/web.yaml': null, 'stacks/templates/wbee.yaml': TEMPLATE });
    expect([renamed.counts.instancesExpanded, [...hints(renamed)]]).toEqual([0, ['did you mean "wbee"?']]);
    const role = repository.commit({ 'stacks/templates/wbe.yaml': TEMPLATE });
    expect([role.counts.instancesExpanded, [...hints(role)]]).toEqual([50, ['add types/role/web.yaml']]);
    expect(repository.commit({ README: 'x' }).counts.instancesExpanded).toBe(0);
    const named = repository.commit({ 'types/role/wbe.yaml': 'a: 1\n' });
    expect([named.counts.instancesExpanded, [...hints(named)]]).toEqual([0, ['did you mean "wbe"?']]);
    expect(repository.commit({ 'types/role/web.yaml': 'a: 1\n' }).problems).toEqual([]);
  });
});

describe('suggestions', () => {
  it.each([
    ['shape', 'smal', 'did you mean "small"?'],
    ['shape', 'gigantic', 'add types/shape/gigantic.yaml, or use "large", "small"'],
    ['shape', 'x/../../gigantic', 'write the name of a shape, or use "large", "small"'],
    ['role', 'web', 'add types/role/web.yaml'],
    ['configuration', 'no', 'add types/configuration/no.yaml, or use "c-0", "c-1", "c-2", "c-3", "c-4" and 3 more'],
    ['environment', 'tset', 'did you mean "test"?'],
    ['environment', 'base', 'add types/environment/base.yaml, or use "lab", "test"'],
  ])('for the %s %s: %s', (type, name, hint) => {
    const many = Array.from({ length: 8 }, (_, index) => [`types/configuration/c-${index}.yaml`, 'a: 1\n']);
    const desired = stacksRepository().commit({
      ...Object.fromEntries(many),
      'tree.yaml': 'name: base\ntype: common\nchildren: [{ name: test, type: environment }]\n',
      'types/shape/large.yaml': 'a: 1\n',
      'types/shape/small.yaml': 'a: 1\n',
      'types/environment/lab.yaml': 'a: 1\n',
      'stacks/templates/t.yaml': `resources: { a: { type: "Platform::Server", properties: { ${type}: "${name}" } } }\n`,
      [instanceFile('i')]: 'stackTemplate: t\n',
    });
    expect(desired.problems.map((problem) => problem.hint)).toEqual([hint]);
    expect(desired.problems.map((problem) => problem.missing)).toEqual([undefined]);
  });
});

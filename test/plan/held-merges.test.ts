// Merges of which a part is held: what an approval then does.
import { expect, it } from 'vitest';
import { planned } from './planned.ts';

const instance = (prefix: string, count: number, needs: readonly string[] = []): string => `stackTemplate: web
parameters: {}
stackTemplateAdditions:
  resources:
    web:
      type: Platform::ResourceGroup
      properties:
        count: "${count}"
        resource_def: { properties: { name: "${prefix}-<<index>>"${needs.length === 0 ? '' : `, depends_on: [${needs.join(', ')}]`} } }
`;
const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/web.yaml': 'resources: {}\n',
  'stacks/instances/front.yaml': instance('front', 1),
  'stacks/instances/back.yaml': instance('back', 3),
};

it('planMerge plans an approval on the then active state, and a delete after its dependents', () => {
  // `front` comes to depend on a server of `back`, whose removal is held at first.
  const plan = planned(
    { 'stacks/instances/front.yaml': instance('front', 1, ['back-1']), 'stacks/instances/back.yaml': null },
    { files: FILES, budget: 2 },
  );
  expect(plan.held).toMatchObject({ instances: ['back'], deletes: 3 });
  expect(plan.invalid).toEqual(['front']);
  const reasons = new Map(plan.changes.map(({ resource, reason }) => [resource, reason]));
  expect(reasons.get('back-1')).toBe('the stack instance "back" is removed; it waits while "front-1" depends on it');
  expect(reasons.get('back-2')).toBe('the stack instance "back" is removed');
});

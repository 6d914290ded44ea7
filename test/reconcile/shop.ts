// Files of one instance, `shop`, for tests of what happens to its servers.
import type { Answer } from '../../src/model/call-result.ts';
import type { Properties } from '../../src/model/objects.ts';
import type { Call } from '../../src/providers/provider.ts';
import type { Core } from './core.ts';

export const SHOP = 'stacks/instances/shop.yaml';
export const TEMPLATE = 'stacks/templates/t.yaml';

/** Returns the files of the instance `shop` whose template has these resources, as YAML flow maps by key. */
export function shopFiles(
  resources: Readonly<Record<string, string>>,
  instance = '',
): Readonly<Record<string, string>> {
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'clients/A1.yaml': 'role: administrator\n',
    [TEMPLATE]: templateText(resources),
    [SHOP]: `stackTemplate: t\n${instance}`,
    // Something is left when the shop goes.
    'stacks/instances/rest.yaml': 'stackTemplate: none\n',
    'stacks/templates/none.yaml': 'resources: {}\n',
  };
}

/** Returns a template with these resources. */
export function templateText(resources: Readonly<Record<string, string>>): string {
  const lines = Object.entries(resources).map(
    ([key, properties]) => `  ${key}: { type: Platform::Server, properties: { ${properties} } }\n`,
  );
  return lines.length === 0 ? 'resources: {}\n' : `resources:\n${lines.join('')}`;
}

/** Somebody else makes a server of that name. */
export function buildByHand(core: Core, resource: string, properties: Properties = { size: 'other' }): void {
  const [call] = core.provider.calls;
  if (call === undefined) throw new Error('nothing was called yet');
  core.provider.act({ ...call, operation: 'create', resource, properties });
}

/** Has one operation answered by `answer`; the others are left to the provider. */
export function answering(core: Core, operation: Call['operation'], answer: (call: Call) => Promise<Answer>): void {
  core.provider.script = (call) => (call.operation === operation ? answer(call) : undefined);
}

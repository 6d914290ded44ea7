// A desired state of two instances, for stories of commits that come at once.
import type { TextChanges } from '../support/text-repository.ts';

export const A = 'stacks/instances/a.yaml';
export const OTHER = 'stacks/instances/other.yaml';
export const TREE = 'name: global\ntype: common\n';

/** An instance with servers `<prefix>-1` to `<prefix>-<count>`. */
export function servers(prefix: string, count: number, more = '', size = 'small'): string {
  return `stackTemplate: t\nparameters: { prefix: ${prefix}, count: "${count}", size: ${size} }\n${more}`;
}

/** `a` with two servers and `other` with one. */
export const START: TextChanges = {
  'tree.yaml': TREE,
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/t.yaml': `parameters: { prefix: x, count: "1", size: small }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { name: "<<prefix>>-<<index>>", size: "<<size>>" } } }
`,
  [A]: servers('x', 2),
  [OTHER]: servers('other', 1),
};

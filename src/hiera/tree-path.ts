// Checks that what a node selects of the tree is one path of it. See docs/concepts.md, tree.
import type { TreeNode } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import { quote, quoteSome } from '../model/quote.ts';
import { problemIn } from './layers.ts';
import type { Layer } from './node.ts';
import { type TreeStep, treeIndex } from './tree-index.ts';

/**
 * Returns a problem unless `steps`, general to specific, lie on one path from the root of the tree. Levels may be left
 * out. It is reported at the most specific one, since that is the one whose paths can be listed.
 */
export function checkTreePath(steps: readonly TreeStep[], selecting: Layer, tree: TreeNode): readonly Problem[] {
  const index = treeIndex(tree);
  const last = steps.at(-1);
  if (last === undefined || index.hasPath(steps)) return [];
  const paths = index.pathsTo(last);
  const place = describe(last);
  const problem = problemIn(selecting, last.type, {
    code: 'not_a_tree_path',
    message: `tree.yaml has no path ${steps.map(describe).join(', ')}`,
    hint: paths.length === 0 ? `add ${place} to tree.yaml` : `tree.yaml has ${place} at ${quoteSome(paths)}`,
  });
  return [problem];
}

function describe({ type, name }: TreeStep): string {
  return `${type} ${quote(name)}`;
}

// Checks that the tree nodes that a node selects form one path of the tree. See docs/concepts.md, tree.
import { isMap } from '../model/json.ts';
import type { TreeNode } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import { quote, quoteSome } from '../model/quote.ts';
import { problemInLayer } from './layers.ts';
import type { Layer } from './node.ts';
import { type TreeStep, treeIndex } from './tree-index.ts';

/**
 * Returns a problem unless `steps`, general to specific, lie on one path from the root of the tree. Levels may be left
 * out. It is reported at the most specific one that the instance itself gives, since a default of its template is right
 * for others; where it gives none, at the most specific one, whose paths are listed.
 */
export function checkTreePath(steps: readonly TreeStep[], selecting: Layer, tree: TreeNode): readonly Problem[] {
  const index = treeIndex(tree);
  const last = steps.at(-1);
  if (last === undefined || index.hasPath(steps)) return [];
  const paths = index.pathsTo(last);
  const place = describe(last);
  const blamed = steps.findLast(({ type }) => isGivenByInstance(selecting, type)) ?? last;
  const problem = problemInLayer(selecting, blamed.type, {
    code: 'not_a_tree_path',
    message: `tree.yaml has no path ${steps.map(describe).join(', ')}`,
    hint: paths.length === 0 ? `add ${place} to tree.yaml` : `tree.yaml has ${place} at ${quoteSome(paths)}`,
  });
  return [problem];
}

/** True where what has to change stands in the file of a stack instance. */
function isGivenByInstance(selecting: Layer, key: string): boolean {
  const object = selecting.blame?.(key).entry.object;
  return isMap(object) && object.type === 'stack-instance';
}

function describe({ type, name }: TreeStep): string {
  return `${type} ${quote(name)}`;
}

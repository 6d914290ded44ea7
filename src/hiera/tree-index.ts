// Finds nodes of the tree by type and name. Knows nothing about objects; see docs/concepts.md, tree.
import type { PlainTypeName } from '../model/names.ts';
import type { TreeNode } from '../model/objects.ts';

const TREE_TYPES: ReadonlySet<string> = new Set<PlainTypeName>(['environment', 'location', 'zone']);

/** Returns true for a type whose selectors have to form a path of the tree. */
export function isTreeType(type: string): boolean {
  return TREE_TYPES.has(type);
}

/** The type and name of a node of the tree. */
export interface TreeStep {
  readonly type: string;
  readonly name: string;
}

/** The nodes from below the root down to one node. */
type TreePath = readonly TreeStep[];

interface TreeIndex {
  /** Returns the names of all nodes of a type, each once. */
  readonly namesOf: (type: string) => readonly string[];
  /** Returns every path to a node of this type and name, such as `prod/eu/eu-1`, in the order of the tree. */
  readonly pathsTo: (step: TreeStep) => readonly string[];
  /** Returns true if one path contains all `steps`, which are general to specific. Levels may be left out. */
  readonly hasPath: (steps: readonly TreeStep[]) => boolean;
}

const indexes = new WeakMap<TreeNode, TreeIndex>();

/** Returns the index of a tree: one index for each tree, because every node of every stack needs it. */
export function treeIndex(tree: TreeNode): TreeIndex {
  const known = indexes.get(tree);
  if (known !== undefined) return known;
  const index = buildIndex(tree);
  indexes.set(tree, index);
  return index;
}

function buildIndex(tree: TreeNode): TreeIndex {
  const paths = new Map<string, Map<string, TreePath[]>>();
  for (const { node, path } of nodesBelow(tree, [])) {
    const ofType = paths.get(node.type) ?? new Map<string, TreePath[]>();
    const ofName = ofType.get(node.name) ?? [];
    ofName.push(path);
    paths.set(node.type, ofType.set(node.name, ofName));
  }
  const pathsOf = ({ type, name }: TreeStep): readonly TreePath[] => paths.get(type)?.get(name) ?? [];
  return {
    namesOf: (type) => [...(paths.get(type)?.keys() ?? [])],
    pathsTo: (step) => pathsOf(step).map((path) => path.map(({ name }) => name).join('/')),
    hasPath: (steps) => {
      const last = steps.at(-1);
      return last === undefined || pathsOf(last).some((path) => steps.every((step) => isOn(path, step)));
    },
  };
}

/** The depth of the recursion is limited, because the YAML reader limits the depth of a file. */
function* nodesBelow(
  parent: TreeNode,
  above: TreePath,
): Generator<{ readonly node: TreeNode; readonly path: TreePath }> {
  for (const node of parent.children ?? []) {
    const path = [...above, node];
    yield { node, path };
    yield* nodesBelow(node, path);
  }
}

function isOn(path: TreePath, step: TreeStep): boolean {
  return path.some(({ type, name }) => type === step.type && name === step.name);
}

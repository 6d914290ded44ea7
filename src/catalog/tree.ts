// Checks the rules of tree.yaml that a schema cannot express. See docs/concepts.md, tree.
import { below, type ProblemText, problemAt, type ValidEntry } from '../model/entry.ts';
import { isMap, type JsonMap } from '../model/json.ts';
import type { HierarchyLevel, TreeNode } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import { badNameFault } from './paths.ts';

/** Returns the root of the tree from a map that fits the schema. */
export function readTree({ name, description, type, children }: JsonMap): TreeNode {
  return {
    name: String(name),
    description: typeof description === 'string' ? description : '',
    type: String(type),
    ...(Array.isArray(children) ? { children: children.filter(isMap).map(readTree) } : {}),
  };
}

/** Visits a node and all below it, each with its pointer and the node above it. */
function* walk(node: TreeNode, pointer = '', parent?: TreeNode): Generator<[TreeNode, string, TreeNode | undefined]> {
  yield [node, pointer, parent];
  for (const [index, child] of (node.children ?? []).entries()) {
    yield* walk(child, below(pointer, 'children', index), node);
  }
}

/** Returns the mistakes in the names of the tree. */
export function checkTree(entry: ValidEntry<TreeNode>): readonly Problem[] {
  const problems: Problem[] = [];
  const known = new Map<TreeNode | undefined, Set<string>>();
  for (const [node, pointer, parent] of walk(entry.object)) {
    const siblings = known.get(parent) ?? new Set();
    known.set(parent, siblings);
    const fault = badNameFault(node.name) ?? (siblings.has(node.name) ? siblingFault(node, parent) : undefined);
    if (fault !== undefined) problems.push(problemAt(entry, `${pointer}/name`, fault));
    siblings.add(node.name);
  }
  return problems;
}

function siblingFault(node: TreeNode, parent: TreeNode | undefined): ProblemText {
  return {
    code: 'tree_sibling',
    message: `"${parent?.name}" has two children named "${node.name}"`,
    hint: 'join the two, or rename one',
  };
}

/** Returns a problem for every node whose level does not come after its parent's level in the order of the layers. */
export function checkTreeLevels(entry: ValidEntry<TreeNode>, order: readonly HierarchyLevel[]): readonly Problem[] {
  const levels = order.filter(({ name }) => name === undefined).map(({ type }) => String(type));
  const problems: Problem[] = [];
  for (const [node, pointer, parent] of walk(entry.object)) {
    const fault = levelFault(node, parent, levels);
    if (fault !== undefined) problems.push(problemAt(entry, `${pointer}/type`, fault));
  }
  return problems;
}

function levelFault(node: TreeNode, parent: TreeNode | undefined, levels: readonly string[]): ProblemText | undefined {
  const hint = `the order of the layers is: ${levels.join(', ')}`;
  const level = levels.indexOf(node.type);
  // The root is the most general layer even if the order does not list its type.
  if (parent === undefined) return undefined;
  if (level === -1) {
    return { code: 'tree_level', message: `"${node.type}" is not a layer of the order in hierarchy.yaml`, hint };
  }
  if (level > levels.indexOf(parent.type)) return undefined;
  const message = `"${node.name}" of the type "${node.type}" cannot be below "${parent.name}" of the type "${parent.type}"`;
  return { code: 'tree_level', message, hint };
}

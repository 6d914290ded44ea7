// Lists the names that a selector may have, and finds the nearest one to a wrong name. It computes both once for each
// commit, since thousands of servers may share a mistake.
import { compareNames, type PlainTypeName } from '../model/names.ts';
import type { TreeNode } from '../model/objects.ts';
import { didYouMean } from '../model/suggest.ts';
import { isTreeType, treeIndex } from './tree-index.ts';

/** By the list of objects' names, then by the tree: within a commit both are always the same. */
const unions = new WeakMap<readonly string[], WeakMap<TreeNode, readonly string[]>>();

/** Returns the names of all objects and tree nodes of a type, sorted: the same list for the same two. */
export function selectableNames(type: PlainTypeName, objects: readonly string[], tree: TreeNode): readonly string[] {
  const byTree = unions.get(objects) ?? new WeakMap<TreeNode, readonly string[]>();
  unions.set(objects, byTree);
  const known = byTree.get(tree);
  if (known !== undefined) return known;
  const inTree = isTreeType(type) ? treeIndex(tree).namesOf(type) : [];
  const names = [...new Set([...objects, ...inTree])].sort(compareNames);
  byTree.set(tree, names);
  return names;
}

const suggestions = new WeakMap<readonly string[], Map<string, string | null>>();

/** Returns what {@link didYouMean} says of a name, looked for once a list. */
export function nearest(name: string, names: readonly string[]): string | null {
  const known = suggestions.get(names) ?? new Map<string, string | null>();
  suggestions.set(names, known);
  const hint = known.get(name);
  if (hint !== undefined) return hint;
  const found = didYouMean(name, names);
  known.set(name, found);
  return found;
}

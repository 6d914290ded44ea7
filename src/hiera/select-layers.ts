// Selects the layers that a node shares with others, in the order of the hierarchy: reads the node's selectors, finds
// the objects, and checks that the tree's levels form one path. See docs/concepts.md, hierarchy and tree.

import { quote, quoteSome } from '../base/wording.ts';
import { isValidEntry, type ProblemText, problemAt, type ValidEntry } from '../model/entry.ts';
import { isMap } from '../model/json.ts';
import { tenantOf } from '../model/least-rights.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { HierarchyLevel, TreeNode, TypedObject } from '../model/objects.ts';
import { isError, type Problem } from '../model/problem.ts';
import type { RecordValue } from '../model/record.ts';
import { layerOf, problemInLayer } from './layers.ts';
import type { Layer, SelectableObjects } from './node.ts';
import { isTreeType, type TreeStep, treeIndex } from './tree-index.ts';

/** An object that a level selects. */
interface ObjectStep {
  readonly type: PlainTypeName;
  readonly name: string;
}

/** The layers that a node selects. */
export interface Selection {
  /** General to specific. Invalid objects are left out. */
  readonly layers: readonly Layer[];
  readonly problems: readonly Problem[];
}

/**
 * Returns the layers that the keys of `selecting` select, all problems of the selection, and the errors of invalid
 * objects. Warnings of an object do not stop units that use it.
 */
export function selectLayers(selecting: Layer, scope: SelectableObjects): Selection {
  const { order } = scope.hierarchy.object;
  const { selectors, problems: wrongSelectors } = readSelectors(selecting, order);
  const layers: Layer[] = [];
  const problems = [...wrongSelectors];
  const steps: TreeStep[] = [];
  for (const level of order) {
    const name = nameAtLevel(level, selectors, scope.tree.name);
    if (name === undefined) continue;
    const entry = scope.object(level.type, name);
    if (isSelected(level)) {
      const step = { type: level.type, name };
      const isMissing = entry === undefined && !isInTree(step, scope);
      if (isMissing) problems.push(unknownObject(selecting, step));
      else if (isTreeType(step.type)) steps.push(step);
    }
    if (entry === undefined) continue;
    if (!isValidEntry(entry)) problems.push(...entry.problems.filter(isError));
    else if (isForeign(entry, scope)) problems.push(foreignObject(selecting, { level, selectors, entry }, scope));
    else layers.push(layerOf(entry));
  }
  problems.push(...checkTreePath(steps, selecting, scope.tree));
  return { layers, problems };
}

/** Returns true for an object of another tenant than that of `scope`. An object without tenant is for all. */
function isForeign({ object }: ValidEntry<TypedObject>, scope: SelectableObjects): boolean {
  return tenantOf(object) !== '' && tenantOf(object) !== scope.tenant;
}

interface SelectedObject {
  readonly level: HierarchyLevel;
  readonly selectors: Selectors;
  readonly entry: ValidEntry<TypedObject>;
}

/** Reports at the value that selects the object; for the root, which every node has, at the tenant of the object. */
function foreignObject(
  selecting: Layer,
  { level, selectors, entry }: SelectedObject,
  scope: SelectableObjects,
): Problem {
  const text = foreignText(entry.object, scope);
  const key = selectorsOf(level).findLast((type) => selectors.has(type));
  return key === undefined ? problemAt(entry, '/tenant', text) : problemInLayer(selecting, key, text);
}

function foreignText({ type, name, tenant }: TypedObject, scope: SelectableObjects): ProblemText {
  const whose = scope.tenant === '' ? 'no tenant' : `the tenant ${quote(scope.tenant)}`;
  const own = scope.tenant === '' ? 'an object without tenant' : `an object of ${whose}, or one without tenant`;
  const message =
    `the ${type} ${quote(name)} belongs to the tenant ${quote(String(tenant))}, but the record that uses it ` +
    `belongs to ${whose}`;
  return { code: 'foreign_layer', message, hint: `use ${own}` };
}

/** Returns an error if the clientcert file of a stack's server has another tenant than the stack. */
export function checkTenant(clientcert: ValidEntry<TypedObject>, scope: SelectableObjects): readonly Problem[] {
  return isForeign(clientcert, scope) ? [problemAt(clientcert, '/tenant', foreignText(clientcert.object, scope))] : [];
}

/** A node of the tree needs no object. Without one, its layer is empty. */
function isInTree({ type, name }: TreeStep, scope: SelectableObjects): boolean {
  return isTreeType(type) && treeIndex(scope.tree).pathsTo({ type, name }).length > 0;
}

function unknownObject(selecting: Layer, missing: ObjectStep): Problem {
  const message = `there is no ${missing.type} ${quote(missing.name)}`;
  return problemInLayer(selecting, missing.type, { code: 'unknown_object', message, missing });
}

/** The selected name by type, without types whose selector is missing or empty. */
type Selectors = ReadonlyMap<string, string>;

interface ReadSelectors {
  readonly selectors: Selectors;
  readonly problems: readonly Problem[];
}

/** Returns the selectors among the keys that a node sets itself, and a problem for each that is not a string. */
export function readSelectors(selecting: Layer, order: readonly HierarchyLevel[]): ReadSelectors {
  const selectors = new Map<string, string>();
  const problems: Problem[] = [];
  for (const type of new Set(order.flatMap(selectorsOf))) {
    const value = selecting.values[type];
    if (value === undefined || value === null || value === '') continue;
    if (typeof value === 'string') selectors.set(type, value);
    else problems.push(notString(selecting, type, value));
  }
  return { selectors, problems };
}

/** Returns true for a level that the property of the same name selects: neither compound nor the tree's root. */
function isSelected(level: HierarchyLevel): level is { readonly type: PlainTypeName } {
  return level.name === undefined && level.type !== 'common';
}

/** Returns the name of the object that a level selects, or undefined if it selects none. `root`: the tree's name. */
export function nameAtLevel(level: HierarchyLevel, selectors: Selectors, root: string): string | undefined {
  if (level.name !== undefined) return fillName(level.name, selectors);
  return isSelected(level) ? selectors.get(level.type) : root;
}

/** Returns the name of a compound layer with its placeholders replaced, or undefined if a selector is missing. */
function fillName(name: string, selectors: Selectors): string | undefined {
  const parts = partsOf(name).map((part, at) => (isType(at) ? selectors.get(part) : part));
  return parts.includes(undefined) ? undefined : parts.join('');
}

function selectorsOf(level: HierarchyLevel): string[] {
  if (level.name !== undefined) return partsOf(level.name).filter((_, at) => isType(at));
  return isSelected(level) ? [level.type] : [];
}

/** Splits a compound name into text and, at every second place, the type of a placeholder. */
function partsOf(name: string): string[] {
  return name.split(/<<([^<>]*)>>/);
}

function isType(at: number): boolean {
  return at % 2 === 1;
}

function notString(selecting: Layer, type: string, value: RecordValue): Problem {
  const only = typeof value !== 'object' ? String(value) : value.length === 1 ? value[0] : undefined;
  return problemInLayer(selecting, type, {
    code: 'selector_not_string',
    message: `"${type}" selects one ${type} by its name, and ${quote(value)} is ${kindOf(value)}`,
    hint: only === undefined ? 'write one name, or "" to select none' : `write ${quote(only)}`,
  });
}

function kindOf(value: RecordValue): string {
  return typeof value === 'object' ? 'a list' : `a ${typeof value}`;
}

/**
 * Returns a problem unless `steps`, general to specific, are on one path from the root of the tree. Levels may be left
 * out. The problem is at the most specific selector that the instance sets, because other instances share the template.
 * If the instance sets none, it is at the most specific selector.
 */
function checkTreePath(steps: readonly TreeStep[], selecting: Layer, tree: TreeNode): readonly Problem[] {
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

/** Returns true if the value of the key comes from the file of a stack instance. */
function isGivenByInstance(selecting: Layer, key: string): boolean {
  const object = selecting.blame?.(key).entry.object;
  return isMap(object) && object.type === 'stack-instance';
}

function describe({ type, name }: TreeStep): string {
  return `${type} ${quote(name)}`;
}

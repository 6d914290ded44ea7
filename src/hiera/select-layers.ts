// Selects the layers that a node shares with others, in the order of the hierarchy. See docs/concepts.md, hierarchy.
import { addressOf } from '../model/address.ts';
import { isValidEntry } from '../model/entry.ts';
import { nameFault, type PlainTypeName } from '../model/names.ts';
import { isError, type Problem } from '../model/problem.ts';
import { quote, quoteSome } from '../model/quote.ts';
import { layerOf, problemInLayer } from './layers.ts';
import type { Layer, SelectableObjects } from './node.ts';
import { nearest, selectableNames } from './selectable-names.ts';
import { isSelected, nameAtLevel, readSelectors } from './selectors.ts';
import { isTreeType, type TreeStep, treeIndex } from './tree-index.ts';
import { checkTreePath } from './tree-path.ts';

/** The number of wrong names of one unit that are compared with all existing ones. */
const SUGGESTIONS_MAX = 100;

/** An object as a level selects it. */
interface ObjectStep {
  readonly type: PlainTypeName;
  readonly name: string;
}

/** The layers that a node selects. */
export interface Selection {
  /** General to specific. Wrong objects are left out. */
  readonly layers: readonly Layer[];
  readonly problems: readonly Problem[];
}

/**
 * Returns the layers that the keys of `selecting` select, with all problems of doing so and the errors of wrong objects;
 * warnings of an object do not stop the units that use it.
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
      if (isMissing) problems.push(unknownObject(selecting, step, scope));
      else if (isTreeType(step.type)) steps.push(step);
    }
    if (entry === undefined) continue;
    if (isValidEntry(entry)) layers.push(layerOf(entry));
    else problems.push(...entry.problems.filter(isError));
  }
  problems.push(...checkTreePath(steps, selecting, scope.tree));
  return { layers, problems };
}

/** A node of the tree needs no object: its layer is then empty. */
function isInTree({ type, name }: TreeStep, scope: SelectableObjects): boolean {
  return isTreeType(type) && treeIndex(scope.tree).pathsTo({ type, name }).length > 0;
}

function unknownObject(selecting: Layer, step: ObjectStep, scope: SelectableObjects): Problem {
  const { type, name } = step;
  const message = `there is no ${type} ${quote(name)}`;
  return problemInLayer(selecting, type, { code: 'unknown_object', message, hint: hintFor(step, scope) });
}

/** Looked for once a name and unit. Of many wrong names only the first are looked for: each look goes through all names. */
function hintFor({ type, name }: ObjectStep, scope: SelectableObjects): string {
  const { hints, tree } = scope;
  const address = addressOf(type, name);
  const known = hints.get(address);
  if (known !== undefined) return known;
  const names = selectableNames(type, scope.namesOf(type), tree);
  const near = hints.size < SUGGESTIONS_MAX ? nearest(name, names) : null;
  const hint = near ?? whatToDo({ type, name }, names);
  hints.set(address, hint);
  return hint;
}

function whatToDo({ type, name }: ObjectStep, names: readonly string[]): string {
  const add = nameFault(name) === undefined ? `add types/${type}/${name}.yaml` : `write the name of a ${type}`;
  return names.length === 0 ? add : `${add}, or use ${quoteSome(names)}`;
}

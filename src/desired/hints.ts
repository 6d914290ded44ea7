// Adds hints to the problems of objects that do not exist. Computed when the problems of a commit are listed, from the
// names that this commit has.
import { didYouMean, quoteSome } from '../base/wording.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { isTreeType, treeIndex } from '../hiera/tree-index.ts';
import { addressOf, splitAddress } from '../model/address.ts';
import { compareNames, nameFault } from '../model/names.ts';
import type { MissingObject, Problem } from '../model/problem.ts';

/** How many missing names are compared with all existing ones. */
const SUGGESTIONS_MAX = 100;

/** Returns the problems, with a hint for each missing object. */
export function withHints(problems: readonly Problem[], catalog: Catalog): readonly Problem[] {
  const hints = new Map<string, string>();
  const namesOf = nameLists(catalog);
  return problems.map((listed) => {
    const { missing, ...problem } = listed;
    if (missing === undefined) return listed;
    const address = addressOf(missing.type, missing.name);
    const hint = hints.get(address) ?? hintFor(missing, namesOf(missing.type), hints.size < SUGGESTIONS_MAX);
    hints.set(address, hint);
    return { ...problem, hint };
  });
}

function hintFor({ type, name }: MissingObject, names: readonly string[], isCompared: boolean): string {
  const near = isCompared ? didYouMean(name, names) : null;
  if (near !== null) return near;
  if (type === 'stack-template') return `add stacks/templates/${name}.yaml`;
  const add = nameFault(name) === undefined ? `add types/${type}/${name}.yaml` : `write the name of a ${type}`;
  return names.length === 0 ? add : `${add}, or use ${quoteSome(names)}`;
}

/** Returns a function that returns the names of the objects and tree nodes of a type, sorted. */
function nameLists({ objects, templates, tree }: Catalog): (type: MissingObject['type']) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (type) => {
    const names = known.get(type) ?? [...new Set(namesOf(type))].sort(compareNames);
    known.set(type, names);
    return names;
  };

  function namesOf(type: MissingObject['type']): readonly string[] {
    if (type === 'stack-template') return [...templates.keys()];
    const own = [...objects.keys()].map(splitAddress).filter(([other]) => other === type);
    const inTree = isTreeType(type) && tree.object !== null ? treeIndex(tree.object).namesOf(type) : [];
    return [...own.map(([, name]) => name), ...inTree];
  }
}

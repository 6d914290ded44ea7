// Writes the inferred objects as files of a stacks repository: the tree, the hierarchy, templates, instances and
// layers.
import type { FileType } from '../catalog/catalog.ts';
import { emptyMap, type Json, type JsonMap } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import { writeYaml } from '../yaml-edit/print-yaml.ts';
import { inferInstances, writeStacks } from './infer-instances.ts';
import { inferLayers, type LayerObjects, ROOT_NAME } from './infer-layers.ts';
import { inferSelectors, type SelectedNames, type SelectingNode, type SelectorType } from './infer-selectors.ts';
import { ImportError, type Inventory, SECRET_KEY } from './inventory.ts';

/** The options of an import. */
export interface WriteOptions {
  /** The fact, group, column or key that selects the object of a type. */
  readonly layers: ReadonlyMap<SelectorType, string>;
  /** Adopts existing servers. */
  readonly adopt: boolean;
}

/** The files of a repository by path, and the selection of each server by name. */
export interface WrittenRepository {
  readonly files: ReadonlyMap<string, string>;
  readonly selections: ReadonlyMap<string, SelectedNames>;
}

/** Returns the files. Throws ImportError if the chosen layers do not form a tree. */
export function writeRepository(inventory: Inventory, { layers, adopt }: WriteOptions): WrittenRepository {
  const { nodes, facets } = inferSelectors(inventory, layers);
  const selections = new Map(nodes.map(({ node, selection }) => [node.name, selection]));
  const planned = inferInstances(nodes);
  // If servers already select a configuration, instances do not get their own.
  const isFree = !nodes.some(({ selection }) => selection.has('configuration'));
  const instances = new Map(
    planned.flatMap(({ name, runs }) => runs.flatMap(({ names }) => names.map((server) => [server, name]))),
  );
  const layered = nodes.map(({ node, selection }): SelectingNode => {
    const name = instances.get(node.name) ?? '';
    return { node, selection: isFree ? new Map([...selection, ['configuration', name]]) : selection };
  });
  const objects = inferLayers(layered, facets);
  const configured = new Set(
    planned.map(({ name }) => name).filter((name) => isFree && objects.has(`configuration/${name}`)),
  );
  const stacks = writeStacks(planned, { configured, adopt });
  const files = new Map<string, string>();
  const write = (path: string, type: FileType, object: JsonMap): void => {
    const up = '../'.repeat(path.split('/').length - 1) || './';
    files.set(path, writeYaml(object, `# yaml-language-server: $schema=${up}schemas/${type}.schema.json`));
  };
  write('tree.yaml', 'tree', treeOf([...selections.values()]));
  write('hierarchy.yaml', 'hierarchy', { secrets: { keys: [SECRET_KEY], reference: '^secret/[A-Za-z0-9/_.-]+$' } });
  for (const [name, object] of stacks.templates) write(`stacks/templates/${name}.yaml`, 'stack-template', object);
  for (const [name, object] of stacks.instances) write(`stacks/instances/${name}.yaml`, 'stack-instance', object);
  for (const [address, object] of withSelected(objects, selections)) {
    write(`types/${address}.yaml`, address.split('/', 1)[0] as FileType, object);
  }
  return { files, selections };
}

/** Yields the objects by address, with sorted keys. Adds missing selected objects, except nodes of the tree. */
function* withSelected(
  objects: LayerObjects,
  selections: ReadonlyMap<string, SelectedNames>,
): Generator<readonly [address: string, object: JsonMap]> {
  const needed = new Set(objects.keys());
  for (const selection of selections.values()) {
    for (const type of ['shape', 'role', 'configuration'] as const) {
      if (selection.get(type)) needed.add(`${type}/${selection.get(type)}`);
    }
  }
  for (const address of [...needed].sort(compareNames)) {
    const keys = [...(objects.get(address) ?? [])].sort(([a], [b]) => compareNames(a, b));
    const object = emptyMap<Json>();
    if (keys.length === 0) object.description = `Servers of the ${address.replace('/', ' ')}`;
    for (const [key, value] of keys) object[key] = value;
    yield [address, object];
  }
}

interface TreeBranch {
  readonly type: string;
  readonly children: Map<string, TreeBranch>;
}

/**
 * Returns the tree of all places of servers. A place on the path to another one needs no separate branch.
 */
function treeOf(selections: readonly SelectedNames[]): JsonMap {
  const paths = new Map<string, readonly (readonly [string, string])[]>();
  for (const selection of selections) {
    const path = (['environment', 'location', 'zone'] as const).flatMap((type) => {
      const name = selection.get(type) ?? '';
      return name === '' ? [] : [[type, name] as const];
    });
    paths.set(JSON.stringify(path), path);
  }
  const all = [...paths.values()].sort((a, b) => b.length - a.length);
  const covered = new Set<string>();
  const root: TreeBranch = { type: 'common', children: new Map() };
  for (const path of all) {
    if (path.length < 3 && covered.has(JSON.stringify(path))) continue;
    for (const part of partsOf(path)) covered.add(JSON.stringify(part));
    let at = root;
    for (const [type, name] of path) at = childOf(at, type, name);
  }
  return nodeOf(ROOT_NAME, root);
}

/** Returns every subset of the levels of a path. */
function partsOf<Step>(path: readonly Step[]): readonly (readonly Step[])[] {
  const [first, ...rest] = path;
  if (first === undefined) return [[]];
  const below = partsOf(rest);
  return [...below, ...below.map((part) => [first, ...part])];
}

function childOf(parent: TreeBranch, type: string, name: string): TreeBranch {
  const known = parent.children.get(name) ?? { type, children: new Map<string, TreeBranch>() };
  if (known.type !== type) {
    throw new ImportError(`${name} is the name of a ${known.type} and of a ${type}: choose another fact with --layer`);
  }
  parent.children.set(name, known);
  return known;
}

function nodeOf(name: string, { type, children }: TreeBranch): JsonMap {
  const below = [...children].sort(([a], [b]) => compareNames(a, b)).map(([child, branch]) => nodeOf(child, branch));
  return { name, type, ...(below.length === 0 ? {} : { children: below }) };
}

// Resolves the configuration layers of one node, and reports every mistake in them.
import { type Entry, isValidEntry } from '../model/entry.ts';
import { emptyMap, type JsonMap } from '../model/json.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { TypedObject } from '../model/objects.ts';
import { affecting, isError, type Problem } from '../model/problem.ts';
import { checkClientcert, checkProperties } from './check-own-keys.ts';
import { checkValues } from './check-values.ts';
import { layerOf, propertiesLayer } from './layers.ts';
import type { HieraNode, Layer, NodeOwner, ResolvedNode, SelectableObjects } from './node.ts';
import { type Selection, selectLayers } from './select-layers.ts';

/**
 * Returns a node with its layers, and all problems of its own files, of what it selects and of its values. Never throws
 * for a mistake of the user. A node with errors holds what could be found, and is not to be used.
 */
export function resolveNode(owner: NodeOwner, scope: SelectableObjects): ResolvedNode {
  const { object: hierarchy } = scope.hierarchy;
  const own = ownLayers(owner);
  const selection = sharedLayers(own, scope);
  const shared = scope.share(selection.layers);
  const problems = [...ownProblems(owner), ...selection.problems, ...checkValues([...shared, ...own], scope.hierarchy)];
  return {
    node: { ...describe(owner), shared, own, hierarchy },
    provisioning: provisioningOf(shared, hierarchy.provisioning),
    problems: owner.server === null ? problems : affecting(problems, owner.server.instance),
  };
}

/** The node's own layers, general to specific; the first of them selects the shared layers. */
function ownLayers({ server, clientcert }: NodeOwner): Layer[] {
  const properties = server === null ? [] : [propertiesLayer(server)];
  return clientcert !== undefined && isValidEntry(clientcert) ? [...properties, layerOf(clientcert)] : properties;
}

function sharedLayers([selecting]: readonly Layer[], scope: SelectableObjects): Selection {
  return selecting === undefined ? { layers: [], problems: [] } : selectLayers(selecting, scope);
}

function ownProblems({ server, clientcert }: NodeOwner): readonly Problem[] {
  const problems = clientcert === undefined ? [] : clientcert.problems.filter(isError);
  if (server === null) return problems;
  const inClientcert =
    clientcert !== undefined && isValidEntry(clientcert) ? checkClientcert(layerOf(clientcert), server) : [];
  return [...problems, ...checkProperties(server), ...inClientcert];
}

type Description = Pick<HieraNode, 'name' | 'description' | 'descriptionOrigin' | 'stackInstance'>;

function describe({ server, clientcert }: NodeOwner): Description {
  const written = clientcert?.object?.description ?? '';
  const inFile =
    written === '' || clientcert === undefined ? undefined : { entry: clientcert, pointer: '/description' };
  if (server === null) {
    const name = clientcert.object?.name ?? nameInPath(clientcert);
    return { name, description: written, descriptionOrigin: inFile, stackInstance: [] };
  }
  const { name, instance, key, properties } = server;
  const property = Object.hasOwn(properties, 'description') ? properties.description : '';
  const own = typeof property === 'string' && property !== '' ? property : undefined;
  const descriptionOrigin = inFile ?? (own === undefined ? undefined : server.originOf('description'));
  return {
    name,
    description: written || (own ?? `${key} of ${instance}`),
    descriptionOrigin,
    stackInstance: [instance],
  };
}

/** The name of an object whose file could not be read. */
function nameInPath({ path }: Entry<TypedObject>): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.yaml$/, '');
}

/** Compound levels make several layers of one type; the more specific one is laid over the other. */
function provisioningOf(layers: readonly Layer[], types: readonly PlainTypeName[]): Readonly<Record<string, JsonMap>> {
  const content = emptyMap<JsonMap>();
  for (const { type, values } of layers) {
    const isEmpty = Object.keys(values).length === 0;
    if (isEmpty || !types.some((provisioning) => provisioning === type)) continue;
    const general = content[type];
    content[type] = general === undefined ? values : Object.assign(emptyMap(), general, values);
  }
  return content;
}

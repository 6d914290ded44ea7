// Resolves the configuration layers of one node, and reports mistakes in the keys that a stack's server sets and in
// values that break a rule of hierarchy.yaml. The catalog has checked the files.

import { quote, withForeignCharacter } from '../base/wording.ts';
import { below, type Entry, isValidEntry, type ProblemText, problemAt } from '../model/entry.ts';
import type { ExpandedServer } from '../model/expanded.ts';
import { emptyMap, type JsonMap } from '../model/json.ts';
import { recordKeyFault, SELECTORS } from '../model/keys.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { TypedObject } from '../model/objects.ts';
import { affecting, isError, type Problem } from '../model/problem.ts';
import { layerOf, problemInLayer, propertiesLayer } from './layers.ts';
import type { HieraNode, Layer, NodeOwner, ResolvedNode, SelectableObjects } from './node.ts';
import { compileSecrets, type Secrets } from './secrets.ts';
import { checkTenant, type Selection, selectLayers } from './select-layers.ts';

/**
 * Returns a node with its layers, and all problems of its own files, its selected objects and its values. Never throws
 * for a mistake of the user. A node with errors is incomplete and must not be used.
 */
export function resolveNode(owner: NodeOwner, scope: SelectableObjects): ResolvedNode {
  const { object: hierarchy } = scope.hierarchy;
  const own = ownLayers(owner);
  const selection = sharedLayers(own, scope);
  const { layers: shared } = selection;
  const problems = [
    ...ownProblems(owner, scope),
    ...selection.problems,
    ...checkValues([...shared, ...own], scope.hierarchy),
  ];
  return {
    node: { ...describe(owner), shared, own, hierarchy },
    provisioning: mergeProvisioning(shared, hierarchy.provisioning),
    problems: owner.server === null ? problems : affecting(problems, owner.server.instance),
  };
}

/** Returns the node's own layers, general to specific. The first one selects the shared layers. */
function ownLayers({ server, clientcert }: NodeOwner): Layer[] {
  const properties = server === null ? [] : [propertiesLayer(server)];
  return clientcert !== undefined && isValidEntry(clientcert) ? [...properties, layerOf(clientcert)] : properties;
}

function sharedLayers([selecting]: readonly Layer[], scope: SelectableObjects): Selection {
  return selecting === undefined ? { layers: [], problems: [] } : selectLayers(selecting, scope);
}

function ownProblems({ server, clientcert }: NodeOwner, scope: SelectableObjects): readonly Problem[] {
  const problems = clientcert === undefined ? [] : clientcert.problems.filter(isError);
  if (server === null) return problems;
  const inClientcert =
    clientcert !== undefined && isValidEntry(clientcert)
      ? [...checkClientcert(layerOf(clientcert), server), ...checkTenant(clientcert, scope)]
      : [];
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

/** Compound levels give several layers of one type. The more specific layer overrides the other. */
function mergeProvisioning(
  layers: readonly Layer[],
  types: readonly PlainTypeName[],
): Readonly<Record<string, JsonMap>> {
  const content = emptyMap<JsonMap>();
  for (const { type, values } of layers) {
    const isEmpty = Object.keys(values).length === 0;
    if (isEmpty || !types.some((provisioning) => provisioning === type)) continue;
    const general = content[type];
    content[type] = general === undefined ? values : Object.assign(emptyMap(), general, values);
  }
  return content;
}

/** Properties that reach the provider but not the record, where they describe an object. */
const NOT_IN_RECORDS: ReadonlySet<string> = new Set(['type', 'tenant']);

/**
 * Returns an error for each property whose name cannot be a key of a record, and a warning for each that the record
 * does not show.
 */
function checkProperties(server: ExpandedServer): readonly Problem[] {
  return [...Object.keys(server.properties), ...Object.keys(server.reads ?? {})].flatMap((property) => {
    const text = propertyProblem(property);
    if (text === undefined) return [];
    const { entry, pointer } = server.originOf(property);
    return [problemAt(entry, pointer, { ...text, part: 'key' })];
  });
}

/** Returns an error for each selector in the clientcert file of a stack's server, where it has no effect. */
function checkClientcert(clientcert: Layer, server: ExpandedServer): readonly Problem[] {
  const selectors = Object.keys(clientcert.values).filter((key) => SELECTORS.has(key));
  return selectors.map((key) =>
    problemInLayer(clientcert, key, {
      code: 'selector_in_layer',
      part: 'key',
      message:
        `"${key}" selects a layer, and only the properties of a stack's server do so: "${server.name}" is ` +
        `made by "${server.instance}"`,
      hint: `set "${key}" in the properties of the server, by the template or the instance, and remove it here`,
    }),
  );
}

function propertyProblem(property: string): ProblemText | undefined {
  const fault = recordKeyFault(property);
  if (fault !== undefined) {
    const message = `the property "${property}"${withForeignCharacter(property)} ${fault}, so it cannot be a key of a record`;
    return { code: 'bad_key', message, hint: 'rename it' };
  }
  if (!NOT_IN_RECORDS.has(property)) return undefined;
  const message = `the property "${property}" is not in the record, where "${property}" describes an object`;
  return { code: 'unseen_key', severity: 'warning', message, hint: 'rename it if configuration needs it' };
}

/** Returns a problem for every value that breaks a rule of the hierarchy. The value of a secret is never quoted. */
export function checkValues(layers: readonly Layer[], hierarchy: SelectableObjects['hierarchy']): readonly Problem[] {
  return [...checkUnique(layers, hierarchy), ...checkSecrets(layers, compileSecrets(hierarchy.object))];
}

function* checkUnique(layers: readonly Layer[], hierarchy: SelectableObjects['hierarchy']): Generator<Problem> {
  const { isSecret } = compileSecrets(hierarchy.object);
  for (const [key, rule] of Object.entries(hierarchy.object.merge)) {
    if (rule !== 'unique') continue;
    const list = layers.find(({ values }) => typeof values[key] === 'object' && values[key] !== null);
    for (const layer of layers) {
      const value = layer.values[key];
      if (value === undefined || value === null || typeof value === 'object') continue;
      const what = isSecret(key) ? 'this value' : quote(value);
      const { line } = hierarchy.locate(below('', 'merge', key), 'key');
      yield problemInLayer(layer, key, {
        code: 'unique_not_list',
        message: `"${key}" is merged as a list (${hierarchy.path}:${line}), but ${what} is not a list`,
        hint: isSecret(key) ? 'write a list of references' : `write ${quote([String(value)])}${listAt(list, key)}`,
      });
    }
  }
}

function listAt(list: Layer | undefined, key: string): string {
  const origin = list?.origin(key);
  if (origin === undefined || origin === null) return '';
  return `; it is a list at ${origin.entry.path}:${origin.entry.locate(origin.pointer, 'key').line}`;
}

/** Yields a problem for every secret key whose value is not a reference. The value is not quoted. */
export function* checkSecrets(layers: readonly Layer[], { exposedIn, reference }: Secrets): Generator<Problem> {
  for (const layer of layers) {
    for (const key of exposedIn(layer)) {
      yield problemInLayer(layer, key, {
        code: 'secret_not_reference',
        message: `"${key}" is not a reference to a secret`,
        hint: `write a reference that matches ${reference}; a secret that was committed is known and has to be changed`,
      });
    }
  }
}

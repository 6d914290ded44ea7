// Builds what the configuration hierarchy starts from out of YAML texts, so that every place in a test is a real one.

import { parseYaml } from '../../src/catalog/yaml.ts';
import type { SelectableObjects } from '../../src/hiera/node.ts';
import { below, type Entry } from '../../src/model/entry.ts';
import type { ExpandedServer } from '../../src/model/expanded.ts';
import { emptyMap, isMap, type JsonMap } from '../../src/model/json.ts';
import { isPlainTypeName } from '../../src/model/names.ts';
import type { Hierarchy, HierarchyLevel, Properties, TreeNode, TypedObject } from '../../src/model/objects.ts';
import type { Problem } from '../../src/model/problem.ts';

/** Returns the entry of a file below `types/`; its type and name are those of `path`. */
export function objectEntry(path: string, text: string, problems: readonly Problem[] = []) {
  const [, type = '', name = ''] = /^types\/([^/]+)\/(?:.*\/)?([^/]+)\.yaml$/.exec(path) ?? [];
  if (!isPlainTypeName(type)) throw new Error(`no such type: ${path}`);
  const { value, locate } = read(path, text);
  const object: TypedObject = Object.assign(emptyMap(), { description: '' }, value, { name, type });
  return { path, oid: text, object, problems, locate } satisfies Entry<TypedObject>;
}

export interface ServerParts {
  readonly name?: string;
  readonly instance?: string;
  readonly properties?: Properties;
}

/**
 * Returns an expanded server of the resource `web`. Its properties stand in `stacks/templates/shop.yaml`, one a line
 * from line 4, indented by six columns.
 */
export function serverOf({ name = 'web-1', instance = 'shop', properties = {} }: ServerParts): ExpandedServer {
  const lines = Object.entries(properties).map(
    ([key, value]) => `      ${JSON.stringify(key)}: ${JSON.stringify(value)}`,
  );
  const text = ['resources:', '  web:', '    properties:', ...lines].join('\n');
  const template: Entry<unknown> = {
    path: 'stacks/templates/shop.yaml',
    oid: text,
    object: {},
    problems: [],
    ...read('', text),
  };
  return {
    name,
    instance,
    key: 'web',
    index: '1',
    kind: 'Platform::Server',
    properties: Object.assign(emptyMap<string>(), { name }, properties),
    configurationOnly: [],
    dependsOn: [],
    outside: [],
    lists: [],
    maxUnavailable: '1',
    pauseSeconds: 0,
    originOf: (property) => ({ entry: template, pointer: below('', 'resources', 'web', 'properties', property) }),
    blameOf: (property) => ({ entry: template, pointer: below('', 'resources', 'web', 'properties', property) }),
  };
}

export interface ScopeParts {
  /** The text of hierarchy.yaml; what it leaves out has its default. */
  readonly hierarchy?: string;
  readonly tree?: TreeNode;
  readonly objects?: readonly Entry<TypedObject>[];
  readonly tenant?: string;
}

export interface NotingScope extends SelectableObjects {
  /** Every object that was looked for, as `<type>/<name>`. */
  readonly lookups: readonly string[];
}

/** Returns a scope over these files. Its tree is {@link TREE} unless another is given. */
export function scopeOf({ hierarchy = '{}', tree = TREE, objects = [], tenant = '' }: ScopeParts): NotingScope {
  const byAddress = new Map(objects.map((entry) => [`${entry.object?.type}/${entry.object?.name}`, entry]));
  const lookups: string[] = [];
  return {
    hierarchy: hierarchyEntry(hierarchy),
    tree,
    tenant,
    lookups,
    object(type, name) {
      lookups.push(`${type}/${name}`);
      return byAddress.get(`${type}/${name}`);
    },
  };
}

/** prod/eu/eu-1, prod/eu/eu-2, prod/us/dmz, test/eu/dmz, and lab without locations. */
export const TREE: TreeNode = node('common', 'base', [
  node('environment', 'prod', [
    node('location', 'eu', [node('zone', 'eu-1'), node('zone', 'eu-2')]),
    node('location', 'us', [node('zone', 'dmz')]),
  ]),
  node('environment', 'test', [node('location', 'eu', [node('zone', 'dmz')])]),
  node('environment', 'lab'),
]);

/** Returns a node of the tree; without `children` where it has none. */
export function node(type: string, name: string, children: readonly TreeNode[] = []): TreeNode {
  return { type, name, description: '', ...(children.length === 0 ? {} : { children }) };
}

function hierarchyEntry(text: string): SelectableObjects['hierarchy'] {
  const { value, locate } = read('hierarchy.yaml', text);
  const order = ['common', 'environment', 'location', 'zone', 'shape', 'role', 'configuration'];
  const filled = { order, merge: {}, provisioning: ['shape'], ...value };
  const object = { ...filled, order: filled.order.map(levelOf) } as unknown as Hierarchy;
  return { path: 'hierarchy.yaml', oid: text, object, problems: [], locate };
}

function levelOf(level: unknown): HierarchyLevel {
  return (typeof level === 'string' ? { type: level } : level) as HierarchyLevel;
}

function read(path: string, text: string): { value: JsonMap; locate: Entry<unknown>['locate'] } {
  const { value = {}, locate } = parseYaml(path, text);
  if (!isMap(value)) throw new Error(`${path} holds no map`);
  return { value, locate };
}

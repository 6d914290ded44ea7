// Builds the graph of properties that need other properties' values. It determines the order in which Array
// placeholders are replaced.

import { type Blueprint, type PropertyText, sourcesOf, takesOutputs } from './blueprint.ts';
import type { ArrayToken } from './placeholders.ts';

/** One property of all servers of a resource. */
export interface ValueNode {
  readonly blueprint: Blueprint;
  readonly property: string;
  /** Null for a generated server name, which consists of the instance's name, the key and the index. */
  readonly text: PropertyText | null;
}

/** By resource key, then by property. Every resource has a `name`. */
type ValueGraph = ReadonlyMap<string, ReadonlyMap<string, ValueNode>>;

/** Returns a node for every property of every resource, except structural properties, which Array cannot list. */
export function valueGraph(blueprints: readonly Blueprint[]): ValueGraph {
  return new Map(blueprints.map((blueprint) => [blueprint.key, nodesOf(blueprint)]));
}

/** Returns all nodes, in the order of the resources. */
export function allNodes(graph: ValueGraph): readonly ValueNode[] {
  return [...graph.values()].flatMap((properties) => [...properties.values()]);
}

/** Returns the node that an Array placeholder names, if it exists. */
export function nodeFor(graph: ValueGraph, { resource, property }: ArrayToken): ValueNode | undefined {
  return graph.get(resource)?.get(property);
}

/** Returns the nodes whose values a property uses. Unknown names are ignored. */
export function needsOf(graph: ValueGraph, property: PropertyText | null): readonly ValueNode[] {
  return (property?.texts ?? []).flatMap(({ tokens }) =>
    tokens.flatMap((token) => (token.kind === 'array' ? (nodeFor(graph, token) ?? []) : [])),
  );
}

/**
 * Returns the nodes that are computed before a property: the values that it uses, and the names of the servers whose
 * outputs it uses.
 */
export function earlierThan(graph: ValueGraph, { blueprint, property, text }: ValueNode): readonly ValueNode[] {
  if (!takesOutputs(blueprint.properties.get(property))) return needsOf(graph, text);
  const names = [...sourcesOf(blueprint).keys()].flatMap((key) => graph.get(key)?.get('name') ?? []);
  return [...needsOf(graph, text), ...names];
}

/** Returns where a property is written; for a generated name, that of the resource. */
export function pointerOfNode({ blueprint, text }: ValueNode): string {
  return text?.pointer ?? blueprint.pointer;
}

/** Returns the name of a node for messages. */
export function labelOf({ blueprint, property }: ValueNode): string {
  return `${blueprint.key}.${property}`;
}

function nodesOf(blueprint: Blueprint): ReadonlyMap<string, ValueNode> {
  const nodes = new Map<string, ValueNode>([['name', { blueprint, property: 'name', text: null }]]);
  for (const [property, text] of blueprint.properties) nodes.set(property, { blueprint, property, text });
  return nodes;
}

// Chooses the selectors of each server (environment, location, zone, shape, role and configuration) from its facts,
// groups, columns and values.
import { quote } from '../base/wording.ts';
import { nameFault } from '../model/names.ts';
import { ImportError, type Inventory, type SourceNode } from './inventory.ts';

/** The types that a server selects by its properties, in the order of the layers. */
export const SELECTOR_TYPES = ['environment', 'location', 'zone', 'shape', 'role', 'configuration'] as const;
/** One of these types. */
export type SelectorType = (typeof SELECTOR_TYPES)[number];

/** The selection of a server. An empty name selects no object, but is in the record. */
export type SelectedNames = ReadonlyMap<SelectorType, string>;

/** A server with its selection. */
export interface SelectingNode {
  readonly node: SourceNode;
  readonly selection: SelectedNames;
}

const LOCATIONS = 'locations datacenter datacenters data_center pp_datacenter dc site sites region regions pp_region';
/** The usual last parts of synonymous names of facts, columns and tags, the best first. */
const OTHER_NAMES: Readonly<Record<SelectorType, readonly string[]>> = {
  environment: ['env', 'pp_environment', 'environments', 'deployment_environment', 'stage', 'stages'],
  location: LOCATIONS.split(' '),
  zone: ['zones', 'availability_zone', 'az', 'network_zone', 'pp_zone', 'pp_network'],
  shape: ['instance_type', 'machine_type', 'server_type', 'flavor_name', 'flavor', 'vm_size', 'size', 'plan'],
  role: ['roles', 'pp_role', 'puppet_role', 'server_role', 'node_role', 'host_role', 'function', 'service', 'resource'],
  configuration: [],
};

/** The selections of servers, and their selecting keys, whose values equal the selected layer. */
interface Selectors {
  readonly nodes: readonly SelectingNode[];
  readonly facets: ReadonlyMap<string, SelectorType>;
}

/**
 * Returns the selection of each server: the value of the key with the name of a type, otherwise the facet in `chosen`
 * or one with a synonymous name. Values that cannot select are removed from the inventory.
 */
export function inferSelectors(inventory: Inventory, chosen: ReadonlyMap<SelectorType, string>): Selectors {
  const nodes = [...inventory.nodes.values()];
  const facets = new Map(SELECTOR_TYPES.map((type) => [type, chosen.get(type) ?? facetFor(type, nodes)]));
  for (const [type, facet] of chosen) {
    if (nodes.some((node) => facetOf(node, facet) !== undefined)) continue;
    throw new ImportError(`no server has ${quote(facet)}, of which --layer makes its ${type}`);
  }
  const selecting = nodes.map((node): SelectingNode => {
    const selected = SELECTOR_TYPES.flatMap((type): readonly (readonly [SelectorType, string])[] => {
      const name = ownSelector(node, type, inventory) ?? selectable(facetOf(node, facets.get(type) ?? ''));
      return name === undefined ? [] : [[type, name]];
    });
    return { node, selection: new Map(selected) };
  });
  return {
    nodes: selecting,
    facets: new Map([...facets].flatMap(([type, facet]) => (facet === undefined ? [] : [[facet, type]]))),
  };
}

/** A key with the name of a type can only be in the record as the selection of the server. */
function ownSelector(node: SourceNode, type: SelectorType, inventory: Inventory): string | undefined {
  const own = node.values.get(type);
  if (own === undefined) return undefined;
  if (typeof own.value === 'string' && (own.value === '' || nameFault(own.value) === undefined)) return own.value;
  node.values.delete(type);
  inventory.leave(own, type, `${quote(type)} selects a layer, and this value is not a valid name`);
  return undefined;
}

function facetOf(node: SourceNode, facet: string): string | undefined {
  const value = node.facets.get(facet) ?? node.values.get(facet)?.value;
  return value === undefined || typeof value === 'object' ? undefined : String(value);
}

function selectable(name: string | undefined): string | undefined {
  return name === undefined || nameFault(name) !== undefined ? undefined : name;
}

/**
 * Returns the facet with the name of a type or the nearest synonym, if its values vary but are not unique for each
 * server.
 */
function facetFor(type: SelectorType, nodes: readonly SourceNode[]): string | undefined {
  const wanted = [type, ...OTHER_NAMES[type]];
  const found = new Set<string>();
  for (const { facets } of nodes)
    for (const facet of facets.keys()) if (wanted.includes(lastPart(facet))) found.add(facet);
  const ranked = [...found].sort(
    (a, b) => wanted.indexOf(lastPart(a)) - wanted.indexOf(lastPart(b)) || a.length - b.length || (a < b ? -1 : 1),
  );
  return ranked.find((facet) => {
    const values = nodes.flatMap((node) => selectable(facetOf(node, facet)) ?? []);
    return values.length > 0 && (values.length < DISTINCT_MIN || new Set(values).size < values.length);
  });
}

/** With fewer servers, unique values are acceptable. */
const DISTINCT_MIN = 4;

function lastPart(facet: string): string {
  return (facet.split(/::|\./).at(-1) ?? '').toLowerCase().replaceAll('-', '_');
}

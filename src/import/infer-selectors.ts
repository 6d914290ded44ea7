// Chooses what selects the layers of each server: its environment, location, zone, shape, role and configuration, out
// of its facts, groups, columns and values.
import { quote } from '../base/wording.ts';
import { nameFault } from '../model/names.ts';
import { ImportError, type Inventory, type SourceNode } from './inventory.ts';

/** The types that a server selects by its properties, in the order of the layers. */
export const SELECTOR_TYPES = ['environment', 'location', 'zone', 'shape', 'role', 'configuration'] as const;
/** One of these types. */
export type SelectorType = (typeof SELECTOR_TYPES)[number];

/** What a server selects. An empty name selects nothing, and is in the record. */
export type SelectedNames = ReadonlyMap<SelectorType, string>;

/** A server with what it selects. */
export interface SelectingNode {
  readonly node: SourceNode;
  readonly selection: SelectedNames;
}

const LOCATIONS = 'locations datacenter datacenters data_center pp_datacenter dc site sites region regions pp_region';
/** The usual last parts of the names of facts, columns and tags that mean the same, the best first. */
const OTHER_NAMES: Readonly<Record<SelectorType, readonly string[]>> = {
  environment: ['env', 'pp_environment', 'environments', 'deployment_environment', 'stage', 'stages'],
  location: LOCATIONS.split(' '),
  zone: ['zones', 'availability_zone', 'az', 'network_zone', 'pp_zone', 'pp_network'],
  shape: ['instance_type', 'machine_type', 'server_type', 'flavor_name', 'flavor', 'vm_size', 'size', 'plan'],
  role: ['roles', 'pp_role', 'puppet_role', 'server_role', 'node_role', 'host_role', 'function', 'service', 'resource'],
  configuration: [],
};

/** What servers select, and by which of their keys: those say the same as the layer. */
interface Selectors {
  readonly nodes: readonly SelectingNode[];
  readonly facets: ReadonlyMap<string, SelectorType>;
}

/**
 * Returns what each server selects. A value whose key is the name of a type selects; else the facet of `chosen`, or one
 * that is called alike. What cannot select is left out of the inventory.
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

/** The value of a key that bears the name of a type can be in the record only as what the server selects. */
function ownSelector(node: SourceNode, type: SelectorType, inventory: Inventory): string | undefined {
  const own = node.values.get(type);
  if (own === undefined) return undefined;
  if (typeof own.value === 'string' && (own.value === '' || nameFault(own.value) === undefined)) return own.value;
  node.values.delete(type);
  inventory.leave(own, type, `${quote(type)} selects a layer, and this is no name of one`);
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
 * Returns the facet called like a type, or nearest to it in meaning, which differs between servers and is not another for
 * each.
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

/** Of fewer servers each may be of its own kind. */
const DISTINCT_MIN = 4;

function lastPart(facet: string): string {
  return (facet.split(/::|\./).at(-1) ?? '').toLowerCase().replaceAll('-', '_');
}

// The installation of the benchmark `records`: every server has twenty keys from seven shared layers, most of them set
// by several.
import type { TextChanges } from '../test/support/text-repository.ts';
import { instancesFor, SERVERS_AN_INSTANCE } from './site.ts';

/** The types of the layers, general to specific. */
export const LAYERS = ['common', 'environment', 'location', 'zone', 'shape', 'role', 'configuration'] as const;

/** The number of objects of each type. Each location and zone is in one environment. */
const OBJECTS = { common: 1, environment: 4, location: 20, zone: 40, shape: 5, role: 10, configuration: 10 } as const;
/** The keys (of `key_0`, …) that the objects of a type set. */
const SETS = {
  common: (key: number) => key >= 0,
  environment: (key: number) => key % 4 === 1,
  location: (key: number) => key % 4 === 2,
  zone: (key: number) => key % 7 === 3,
  shape: (key: number) => key % 5 === 0,
  role: (key: number) => key % 5 === 1 || key % 5 === 2,
  configuration: (key: number) => key % 6 === 4,
} as const;
/** A prime, so that neighbours differ in most of their layers. */
const STRIDE = 7;

/** The keys that the layers set. */
export const KEYS: readonly string[] = Array.from({ length: 20 }, (_, key) => `key_${key}`);

type LayerType = (typeof LAYERS)[number];

/** The names of the objects that the servers of an instance select. */
export type Selected = Readonly<Record<LayerType, string>>;

/** Returns the objects that all servers of an instance select. */
export function selectedBy(instance: number): Selected {
  const zone = (instance * STRIDE) % OBJECTS.zone;
  const location = zone % OBJECTS.location;
  return {
    common: 'global',
    environment: `environment-${location % OBJECTS.environment}`,
    location: `location-${location}`,
    zone: `zone-${zone}`,
    shape: `shape-${instance % OBJECTS.shape}`,
    role: `role-${Math.floor(instance / 3) % OBJECTS.role}`,
    configuration: `configuration-${Math.floor(instance / 11) % OBJECTS.configuration}`,
  };
}

/** Returns the object files below `types/`, without extension. Ruby Hiera reads the same files. */
export function objectFiles(): TextChanges {
  return Object.fromEntries(
    LAYERS.flatMap((type) =>
      Array.from({ length: OBJECTS[type] }, (_, number) => {
        const name = type === 'common' ? 'global' : `${type}-${number}`;
        return [`types/${type}/${name}.yaml`, textOf(type, number)] as const;
      }),
    ),
  );
}

/** Returns the names of the servers of each instance, in the order of the instances. */
export function serversOf(servers: number): readonly (readonly string[])[] {
  return Array.from({ length: instancesFor(servers) }, (_, instance) =>
    Array.from({ length: SERVERS_AN_INSTANCE }, (_unused, server) => `instance-${instance}-web-${server + 1}`),
  );
}

/** Returns all files of an installation with this number of servers. */
export function recordsFiles(servers: number): TextChanges {
  const instances = serversOf(servers).map((_, instance) => {
    const { common: _common, ...selected } = selectedBy(instance);
    const parameters = Object.entries(selected).map(([type, name]) => `${type}: ${name}`);
    return [
      `stacks/instances/instance-${instance}.yaml`,
      `stackTemplate: web\nparameters: { ${parameters.join(', ')} }\n`,
    ];
  });
  return {
    ...objectFiles(),
    'tree.yaml': treeText(),
    'stacks/templates/web.yaml': templateText(),
    ...Object.fromEntries(instances),
  };
}

function textOf(type: LayerType, number: number): string {
  const keys = KEYS.filter((_, key) => SETS[type](key));
  return keys
    .map((key, at) => `${key}: ${at % 3 === 0 ? `[${type}-${number}, ${key}]` : `${type} ${number}`}\n`)
    .join('');
}

function treeText(): string {
  const nodes = (
    type: LayerType,
    isBelow: (number: number) => boolean,
    children: (number: number) => string,
  ): string => {
    const numbers = Array.from({ length: OBJECTS[type] }, (_, number) => number).filter(isBelow);
    return `[${numbers.map((number) => `{ name: ${type}-${number}, type: ${type}${children(number)} }`).join(', ')}]`;
  };
  const zones = (location: number): string =>
    `, children: ${nodes(
      'zone',
      (zone) => zone % OBJECTS.location === location,
      () => '',
    )}`;
  const locations = (environment: number): string =>
    `, children: ${nodes('location', (location) => location % OBJECTS.environment === environment, zones)}`;
  return `name: global\ntype: common\nchildren: ${nodes('environment', () => true, locations)}\n`;
}

function templateText(): string {
  const selected = LAYERS.slice(1).map((type) => `${type}: "<<${type}>>"`);
  const parameters = LAYERS.slice(1).map((type) => `${type}: ""`);
  return `parameters: { ${parameters.join(', ')} }
resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "${SERVERS_AN_INSTANCE}", resource_def: { properties: { ${selected.join(', ')} } } }
`;
}

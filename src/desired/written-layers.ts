// Returns the properties of a template's servers as layers, as far as the template alone determines their values:
// before any instance is expanded. See expand/ for the rest.
import { literalOf, type Token, tokenize } from '../expand/placeholders.ts';
import type { Layer } from '../hiera/node.ts';
import { below, type Entry } from '../model/entry.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { DESCRIBING_FIELDS } from '../model/keys.ts';
import type { ResourceDefinition } from '../model/objects.ts';
import type { RecordValue } from '../model/record.ts';

/** Resources, and the values of their placeholders. */
interface WrittenResources {
  readonly resources: Json | Readonly<Record<string, ResourceDefinition>> | undefined;
  readonly pointer: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly parametersAt: string;
}

/** Returns a layer for every resource of a file; values that depend on another file are omitted. */
export function writtenLayers(entry: Entry<unknown>, written: WrittenResources): readonly Layer[] {
  if (!isMap(written.resources)) return [];
  const resources: JsonMap = written.resources;
  return Object.entries(resources).flatMap(([key, resource]) =>
    propertyMaps(resource, below(written.pointer, key)).map(([pointer, properties]) =>
      layerOfProperties(entry, { name: key, pointer, properties, written }),
    ),
  );
}

/** Returns the properties of a server, and those of a group's members. */
function propertyMaps(resource: Json, pointer: string): readonly (readonly [pointer: string, properties: JsonMap])[] {
  const properties = mapIn(resource, 'properties');
  if (properties === undefined) return [];
  const at = below(pointer, 'properties');
  const own = mapIn(mapIn(properties, 'resource_def') ?? null, 'properties');
  return [[at, properties], ...(own === undefined ? [] : [[below(at, 'resource_def', 'properties'), own] as const])];
}

function mapIn(value: Json, key: string): JsonMap | undefined {
  const inside = isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isMap(inside) ? inside : undefined;
}

interface WrittenProperties {
  readonly name: string;
  readonly pointer: string;
  readonly properties: JsonMap;
  readonly written: WrittenResources;
}

function layerOfProperties(entry: Entry<unknown>, { name, pointer, properties, written }: WrittenProperties): Layer {
  const values = emptyMap<RecordValue | null>();
  const places = new Map<string, string>();
  for (const [key, value] of Object.entries(properties)) {
    const known = DESCRIBING_FIELDS.has(key) ? undefined : knownValue(value, written);
    if (known === undefined) continue;
    values[key] = known.value;
    places.set(key, known.place ?? below(pointer, key));
  }
  return { type: 'stack-template', name, values, origin: (key) => ({ entry, pointer: places.get(key) ?? pointer }) };
}

interface KnownValue {
  readonly value: RecordValue;
  /** The place to correct if the value is invalid, unless that is the property itself. */
  readonly place?: string | undefined;
}

function knownValue(value: Json, written: WrittenResources): KnownValue | undefined {
  if (typeof value === 'string') return knownText(value, written);
  if (!Array.isArray(value)) return undefined;
  const items = (value as readonly Json[]).flatMap((item) =>
    typeof item === 'string' ? (knownText(item, written)?.value ?? []) : [],
  );
  return { value: items as readonly string[] };
}

function knownText(text: string, { parameters, parametersAt }: WrittenResources): KnownValue | undefined {
  const tokens = tokenize(text).map((token) => filledIn(token, parameters));
  if (tokens.some((token) => token === undefined)) return undefined;
  const value = literalOf(tokens.filter((token) => token !== undefined));
  const [only, second] = tokenize(text);
  const isParameter = only?.kind === 'parameter' && second === undefined;
  return { value, place: isParameter ? below(parametersAt, only.name) : undefined };
}

/** An empty default counts as none. */
function filledIn(token: Token, parameters: Readonly<Record<string, string>>): Token | undefined {
  if (token.kind === 'literal') return token;
  const value = token.kind === 'parameter' && Object.hasOwn(parameters, token.name) ? parameters[token.name] : '';
  return value === undefined || value === '' ? undefined : { kind: 'literal', text: value };
}

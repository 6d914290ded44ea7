// Finds secrets in plain text in every object of a commit, whether or not a node selects it: every reader of the
// repository knows them already. See docs/concepts.md, merging.
// Templates and instances are looked at as far as a file alone determines the values: before any instance is expanded.
import type { Catalog } from '../catalog/catalog.ts';
import { literalOf, type Token, tokenize } from '../expand/placeholders.ts';
import { layerOf } from '../hiera/layers.ts';
import type { Layer } from '../hiera/node.ts';
import { checkSecrets } from '../hiera/resolve-node.ts';
import { compileSecrets } from '../hiera/secrets.ts';
import { below, type Entry, isValidEntry, type ValidEntry } from '../model/entry.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { DESCRIBING_FIELDS } from '../model/keys.ts';
import type { Hierarchy, ResourceDefinition, StackInstance, StackTemplate } from '../model/objects.ts';
import { type Problem, sortProblems } from '../model/problem.ts';
import type { RecordValue } from '../model/record.ts';

/**
 * The invalid counterpart of each entry under a hierarchy, so that the same file yields the same entry in every commit;
 * null: the entry is valid.
 */
type Checked = WeakMap<Entry<unknown>, Entry<unknown> | null>;

const checkedUnder = new WeakMap<Hierarchy, Checked>();

/**
 * Returns the catalog in which every object with a plain secret is invalid: with an error at the value, which is never
 * quoted. Without a valid hierarchy the secrets are unknown, and the catalog is returned unchanged.
 */
export function withoutPlainSecrets(catalog: Catalog): Catalog {
  const { hierarchy } = catalog;
  if (!isValidEntry(hierarchy) || (hierarchy.object.secrets?.keys ?? []).length === 0) return catalog;
  const checked: Checked = checkedUnder.get(hierarchy.object) ?? new WeakMap();
  checkedUnder.set(hierarchy.object, checked);
  const check = new Check(hierarchy.object, checked);
  const objects = check.each(catalog.objects, (entry) => [layerOf(entry)]);
  const templates = check.each(catalog.templates, layersOfTemplate);
  const instances = check.each(catalog.instances, layersOfInstance);
  if (check.problems.length === 0) return catalog;
  return {
    ...catalog,
    objects,
    templates,
    instances,
    problems: sortProblems([...catalog.problems, ...check.problems]),
  };
}

class Check {
  readonly problems: Problem[] = [];
  readonly #hierarchy: Hierarchy;
  readonly #checked: Checked;

  constructor(hierarchy: Hierarchy, checked: Checked) {
    this.#hierarchy = hierarchy;
    this.#checked = checked;
  }

  /** Returns the entries by the same names; the same map if none of them is invalid. */
  each<Value>(
    entries: ReadonlyMap<string, Entry<Value>>,
    layersOf: (entry: ValidEntry<Value>) => readonly Layer[],
  ): ReadonlyMap<string, Entry<Value>> {
    const wrong = new Map<string, Entry<Value>>();
    for (const [name, entry] of entries) {
      const found = isValidEntry(entry) ? this.#wrongVersion(entry, layersOf) : null;
      if (found !== null) wrong.set(name, found);
    }
    return wrong.size === 0 ? entries : new Map([...entries, ...wrong]);
  }

  #wrongVersion<Value>(
    entry: ValidEntry<Value>,
    layersOf: (entry: ValidEntry<Value>) => readonly Layer[],
  ): Entry<Value> | null {
    let found = this.#checked.get(entry) as Entry<Value> | null | undefined;
    if (found === undefined) {
      const problems = [...checkSecrets(layersOf(entry), compileSecrets(this.#hierarchy))];
      found = problems.length === 0 ? null : { ...entry, problems: [...entry.problems, ...problems] };
      this.#checked.set(entry, found);
    }
    if (found !== null) this.problems.push(...found.problems.slice(entry.problems.length));
    return found;
  }
}

function layersOfTemplate(entry: ValidEntry<StackTemplate>): readonly Layer[] {
  const { resources, parameters } = entry.object;
  return writtenLayers(entry, { resources, pointer: '/resources', parameters, parametersAt: '/parameters' });
}

/** Returns the additions of an instance as layers. Its parameters are checked in the servers that use them. */
function layersOfInstance(entry: ValidEntry<StackInstance>): readonly Layer[] {
  const { stackTemplateAdditions, parameters } = entry.object;
  const resources = Object.hasOwn(stackTemplateAdditions, 'resources') ? stackTemplateAdditions.resources : undefined;
  const pointer = '/stackTemplateAdditions/resources';
  return writtenLayers(entry, { resources, pointer, parameters, parametersAt: '/parameters' });
}

/** Resources, and the values of their placeholders. */
interface WrittenResources {
  readonly resources: Json | Readonly<Record<string, ResourceDefinition>> | undefined;
  readonly pointer: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly parametersAt: string;
}

/** Returns a layer for every resource of a file; values that depend on another file are omitted. */
function writtenLayers(entry: Entry<unknown>, written: WrittenResources): readonly Layer[] {
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

// Finds plain-text secrets in all objects of a commit, including objects that no node selects: every reader of the
// repository can see them. See docs/concepts.md, merging. In templates, only values without placeholders are checked.
// The others are checked when an instance is expanded.
import type { Catalog } from '../catalog/catalog.ts';
import { isLiteral, literalOf, tokenize } from '../expand/placeholders.ts';
import { layerOf } from '../hiera/layers.ts';
import type { Layer } from '../hiera/node.ts';
import { checkSecrets } from '../hiera/resolve-node.ts';
import { compileSecrets } from '../hiera/secrets.ts';
import { below, type Entry, isValidEntry, type ValidEntry } from '../model/entry.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { DESCRIBING_FIELDS } from '../model/keys.ts';
import type { Hierarchy, StackTemplate } from '../model/objects.ts';
import { type Problem, sortProblems } from '../model/problem.ts';
import type { RecordValue } from '../model/record.ts';

/**
 * The invalid counterpart of each entry under a hierarchy, so that the same file yields the same entry in every commit;
 * null: the entry is valid.
 */
type Checked = WeakMap<Entry<unknown>, Entry<unknown> | null>;

const checkedUnder = new WeakMap<Hierarchy, Checked>();

/**
 * Returns the catalog in which every object with a plain secret is invalid. The error is at the value, which is never
 * quoted. Without a valid hierarchy it is unknown which keys are secret, so the catalog is returned unchanged.
 */
export function withoutPlainSecrets(catalog: Catalog): Catalog {
  const { hierarchy } = catalog;
  if (!isValidEntry(hierarchy) || (hierarchy.object.secrets?.keys ?? []).length === 0) return catalog;
  const checked: Checked = checkedUnder.get(hierarchy.object) ?? new WeakMap();
  checkedUnder.set(hierarchy.object, checked);
  const check = new Check(hierarchy.object, checked);
  const objects = check.each(catalog.objects, (entry) => [layerOf(entry)]);
  const templates = check.each(catalog.templates, layersOfTemplate);
  if (check.problems.length === 0) return catalog;
  return {
    ...catalog,
    objects,
    templates,
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

/** Returns a layer for every resource; values with placeholders are omitted. */
function layersOfTemplate(entry: ValidEntry<StackTemplate>): readonly Layer[] {
  return Object.entries(entry.object.resources).flatMap(([name, { properties }]) => {
    const at = below('/resources', name, 'properties');
    // The properties of the members, if the resource is a group.
    const own = mapIn(mapIn(properties, 'resource_def'), 'properties');
    const parts = [[at, properties] as const, [below(at, 'resource_def', 'properties'), own ?? {}] as const];
    return parts.map(([pointer, written]): Layer => {
      const origin = (key: string) => ({ entry, pointer: below(pointer, key) });
      return { type: 'stack-template', name, values: literalValues(written), origin };
    });
  });
}

function mapIn(map: JsonMap | undefined, key: string): JsonMap | undefined {
  const inside = map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
  return isMap(inside) ? inside : undefined;
}

function literalValues(properties: JsonMap): Layer['values'] {
  const values = emptyMap<RecordValue | null>();
  for (const [key, value] of Object.entries(properties)) {
    if (DESCRIBING_FIELDS.has(key)) continue;
    if (Array.isArray(value)) values[key] = value.flatMap((item) => literalText(item) ?? []);
    else values[key] = literalText(value) ?? null;
  }
  return values;
}

function literalText(value: Json): string | undefined {
  const tokens = typeof value === 'string' ? tokenize(value) : undefined;
  return tokens && isLiteral(tokens) ? literalOf(tokens) : undefined;
}

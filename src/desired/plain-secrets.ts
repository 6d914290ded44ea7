// Finds secrets in plain text in every object of a commit, whether or not a node selects it: every reader of the
// repository knows them already. See docs/concepts.md, merging.

import type { Steps } from '../base/steps.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { layerOf } from '../hiera/layers.ts';
import type { Layer } from '../hiera/node.ts';
import { checkSecrets } from '../hiera/resolve-node.ts';
import { secretsOf } from '../hiera/secrets.ts';
import { type Entry, isValidEntry, type ValidEntry } from '../model/entry.ts';
import type { Hierarchy, StackInstance, StackTemplate } from '../model/objects.ts';
import { type Problem, sortProblems } from '../model/problem.ts';
import { writtenLayers } from './written-layers.ts';

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
export function* withoutPlainSecrets(catalog: Catalog): Steps<Catalog> {
  const { hierarchy } = catalog;
  if (!isValidEntry(hierarchy) || (hierarchy.object.secrets?.keys ?? []).length === 0) return catalog;
  const checked: Checked = checkedUnder.get(hierarchy.object) ?? new WeakMap();
  checkedUnder.set(hierarchy.object, checked);
  const check = new Check(hierarchy.object, checked);
  const objects = yield* check.each(catalog.objects, (entry) => [layerOf(entry)]);
  const templates = yield* check.each(catalog.templates, layersOfTemplate);
  const instances = yield* check.each(catalog.instances, layersOfInstance);
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
  *each<Value>(
    entries: ReadonlyMap<string, Entry<Value>>,
    layersOf: (entry: ValidEntry<Value>) => readonly Layer[],
  ): Steps<ReadonlyMap<string, Entry<Value>>> {
    const wrong = new Map<string, Entry<Value>>();
    for (const [name, entry] of entries) {
      const found = isValidEntry(entry) ? this.#wrongVersion(entry, layersOf) : null;
      if (found !== null) wrong.set(name, found);
      yield;
    }
    return wrong.size === 0 ? entries : new Map([...entries, ...wrong]);
  }

  #wrongVersion<Value>(
    entry: ValidEntry<Value>,
    layersOf: (entry: ValidEntry<Value>) => readonly Layer[],
  ): Entry<Value> | null {
    let found = this.#checked.get(entry) as Entry<Value> | null | undefined;
    if (found === undefined) {
      const problems = [...checkSecrets(layersOf(entry), secretsOf(this.#hierarchy))];
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

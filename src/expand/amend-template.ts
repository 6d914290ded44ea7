// Amends a template for one instance: merges the additions into it, then removes the substractions. Retired indexes of
// a group (`resources.<group>.index: ["2"]`) are not removed here: group-members.ts skips them.

import { didYouMean, quote } from '../base/wording.ts';
import { below, type Entry, lastStep, type ProblemText, problemAt, type ValidEntry } from '../model/entry.ts';
import type { Origin } from '../model/expanded.ts';
import { emptyMap, fieldOf, isMap, type Json, type JsonMap } from '../model/json.ts';
import { RESOURCE_GROUP } from '../model/names.ts';
import type { StackInstance, StackTemplate } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import { MISTAKES_MAX } from './limits.ts';

const ADDITIONS = '/stackTemplateAdditions';
const SUBSTRACTIONS = '/stackTemplateSubstractions';

/** Pointers below are those of the template's document: `/resources/web/properties/count`. */
export interface AmendedTemplate {
  readonly parameters: JsonMap;
  readonly resources: JsonMap;
  /** False for the template without amendments. */
  readonly isAmended: boolean;
  /** By resource key. */
  readonly retired: ReadonlyMap<string, readonly Retired[]>;
  /** Returns true if the value at a pointer comes from the instance's additions. */
  readonly isAdded: (pointer: string) => boolean;
  /** Returns where the value at a pointer is written: in the instance's additions, or in the template. */
  readonly originOf: (pointer: string) => Origin;
  /** Returns the substraction that removed the value at a pointer or a map around it; null if there is none. */
  readonly removedBy: (pointer: string) => Origin | null;
  /** The substractions that match nothing. The schema of instances finds other mistakes. */
  readonly problems: readonly Problem[];
}

const templates = new WeakMap<ValidEntry<StackTemplate>, AmendedTemplate>();

/** Returns the template without amendments: one object for each entry, because thousands of instances share it. */
export function templateAsWritten(template: ValidEntry<StackTemplate>): AmendedTemplate {
  const known = templates.get(template);
  if (known !== undefined) return known;
  const written: AmendedTemplate = {
    parameters: template.object.parameters,
    resources: template.object.resources,
    isAmended: false,
    retired: new Map(),
    isAdded: () => false,
    originOf: (pointer) => ({ entry: template, pointer }),
    removedBy: () => null,
    problems: [],
  };
  templates.set(template, written);
  return written;
}

/** Returns the template as `instance` amends it, or {@link templateAsWritten} if the instance amends nothing. */
export function amendTemplate(
  instance: ValidEntry<StackInstance>,
  template: ValidEntry<StackTemplate>,
): AmendedTemplate {
  const written = templateAsWritten(template);
  const { stackTemplateAdditions, stackTemplateSubstractions } = instance.object;
  if (isLeaf(stackTemplateAdditions) && isLeaf(stackTemplateSubstractions)) return written;
  const overridden = new Set<string>();
  const mergeSection = (section: 'parameters' | 'resources'): JsonMap =>
    merge(written[section], mapAt(stackTemplateAdditions, section), { pointer: `/${section}`, overridden });
  const [parameters, resources] = [mergeSection('parameters'), mergeSection('resources')];
  const [retired, others] = splitRetired(instance, mapAt(stackTemplateSubstractions, 'resources'), resources);
  const found: Subtraction = { removed: new Set(), missing: new Map() };
  const named = mapAt(stackTemplateSubstractions, 'parameters');
  function isAdded(pointer: string): boolean {
    return nearestIn(overridden, pointer) !== null;
  }
  return {
    parameters: subtract(parameters, named, { ...found, pointer: '/parameters' }),
    resources: subtract(resources, others, { ...found, pointer: '/resources' }),
    isAmended: true,
    retired,
    isAdded,
    originOf: (pointer) =>
      isAdded(pointer) ? { entry: instance, pointer: ADDITIONS + pointer } : written.originOf(pointer),
    removedBy(pointer) {
      const removed = nearestIn(found.removed, pointer);
      return removed === null ? null : { entry: instance, pointer: SUBSTRACTIONS + removed };
    },
    problems: [...found.missing].slice(0, MISTAKES_MAX).map((missing) => nothingToTakeAway(instance, missing)),
  };
}

/** Returns a problem at the place where the value at `pointer` is written. */
export function problemInTemplate(amended: AmendedTemplate, pointer: string, text: ProblemText): Problem {
  const origin = amended.originOf(pointer);
  return problemAt(origin.entry, origin.pointer, text);
}

/** Returns the problem of a substraction that removes what `needed`, at `pointer` of the template, refers to. */
export function subtractedButUsed(removal: Origin, needed: string, pointer: string): Problem {
  return problemAt(removal.entry, removal.pointer, {
    code: 'taken_away_but_used',
    message: `this is taken away, but ${quote(needed)} at ${pointer} still needs it`,
    hint: 'take that away too, or give it another value in stackTemplateAdditions',
    part: 'key',
  });
}

function nothingToTakeAway(instance: Entry<StackInstance>, [pointer, present]: [string, JsonMap]): Problem {
  const key = lastStep(pointer);
  return problemAt(instance, SUBSTRACTIONS + pointer, {
    code: 'nothing_to_take_away',
    severity: 'warning',
    message: `there is no ${quote(key)} to take away`,
    hint: didYouMean(key, Object.keys(present)) ?? 'remove it from stackTemplateSubstractions',
    part: 'key',
  });
}

function mapAt(map: JsonMap, key: string): JsonMap {
  const value = fieldOf(map, key);
  return isMap(value) ? value : emptyMap();
}

/** Returns the pointer or its nearest ancestor in the set; null if the set has neither. */
function nearestIn(pointers: ReadonlySet<string>, pointer: string): string | null {
  for (let nearest = pointer; nearest !== ''; nearest = nearest.slice(0, nearest.lastIndexOf('/'))) {
    if (pointers.has(nearest)) return nearest;
  }
  return null;
}

/**
 * Returns the two maps merged: recursively for a key at which both have a map. `overridden` receives the pointers of
 * values of the upper map; everything below such a pointer comes from the upper map, too. Neither map is changed.
 */
function merge(
  lower: JsonMap,
  upper: JsonMap,
  at: { readonly pointer: string; readonly overridden: Set<string> },
): JsonMap {
  const merged = Object.assign(emptyMap(), lower);
  for (const [key, value] of Object.entries(upper)) {
    const pointer = below(at.pointer, key);
    const lowerValue = merged[key];
    if (isMap(value) && isMap(lowerValue)) {
      merged[key] = merge(lowerValue, value, { pointer, overridden: at.overridden });
    } else {
      merged[key] = value;
      at.overridden.add(pointer);
    }
  }
  return merged;
}

/** The result of a substraction, by pointer. */
interface Subtraction {
  readonly removed: Set<string>;
  /** The names that match nothing, with the map in which they were looked up. */
  readonly missing: Map<string, JsonMap>;
}

/** Returns true for a value that removes its key: `{}`, `null`, `""` or `true`. */
function isLeaf(value: Json): boolean {
  return value === null || value === '' || value === true || (isMap(value) && Object.keys(value).length === 0);
}

/** Returns `whole` without the keys that `named` has a leaf for. Neither map is changed. */
function subtract(whole: JsonMap, named: JsonMap, walk: Subtraction & { readonly pointer: string }): JsonMap {
  const left = Object.assign(emptyMap(), whole);
  for (const [key, value] of Object.entries(named)) {
    const pointer = below(walk.pointer, key);
    const present = left[key];
    if (present === undefined) {
      walk.missing.set(pointer, whole);
    } else if (isLeaf(value)) {
      delete left[key];
      walk.removed.add(pointer);
    } else if (isMap(present)) {
      left[key] = subtract(present, mapAt(named, key), { ...walk, pointer });
    } else {
      // A value that is not a map contains nothing, so each name below it is missing.
      subtract(emptyMap(), mapAt(named, key), { ...walk, pointer });
    }
  }
  return left;
}

/** A retired index and where it is written. */
export interface Retired {
  readonly index: number;
  readonly origin: Origin;
}

/** Returns the retired indexes of `substractions.resources` by resource key, and the substractions without them. */
function splitRetired(
  entry: Entry<StackInstance>,
  named: JsonMap,
  resources: JsonMap,
): [AmendedTemplate['retired'], JsonMap] {
  const retired = new Map<string, readonly Retired[]>();
  const others = emptyMap();
  for (const [key, value] of Object.entries(named)) {
    if (!isMap(value) || !Array.isArray(value.index) || !isGroup(resources[key])) {
      others[key] = value;
      continue;
    }
    const { index, ...rest } = value;
    // A map with only an index must not become a leaf, which would remove the whole group.
    if (Object.keys(rest).length > 0) others[key] = rest;
    const indexes = value.index.map((item: Json, position): Retired => {
      const pointer = below(`${SUBSTRACTIONS}/resources`, key, 'index', position);
      return { index: Number(item), origin: { entry, pointer } };
    });
    retired.set(key, indexes);
  }
  return [retired, others];
}

function isGroup(definition: Json | undefined): boolean {
  return isMap(definition) && definition.type === RESOURCE_GROUP;
}

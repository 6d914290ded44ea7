// Reads the names by which a node selects its layers. select-layers.ts checks which objects exist.
import type { PlainTypeName } from '../model/names.ts';
import type { HierarchyLevel } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import { quote } from '../model/quote.ts';
import type { RecordValue } from '../model/record.ts';
import { problemInLayer } from './layers.ts';
import type { Layer } from './node.ts';

/** The selected name by type. A type that is left out, or whose selector is empty, is not in it. */
type Selectors = ReadonlyMap<string, string>;

interface ReadSelectors {
  readonly selectors: Selectors;
  readonly problems: readonly Problem[];
}

/** Returns the selectors among the keys that a node sets itself, and a problem for each that is no string. */
export function readSelectors(selecting: Layer, order: readonly HierarchyLevel[]): ReadSelectors {
  const selectors = new Map<string, string>();
  const problems: Problem[] = [];
  for (const type of new Set(order.flatMap(selectorsOf))) {
    const value = selecting.values[type];
    if (value === undefined || value === null || value === '') continue;
    if (typeof value === 'string') selectors.set(type, value);
    else problems.push(notString(selecting, type, value));
  }
  return { selectors, problems };
}

/** Returns true for a level that a property of its own name selects: neither compound nor the tree's root. */
export function isSelected(level: HierarchyLevel): level is { readonly type: PlainTypeName } {
  return level.name === undefined && level.type !== 'common';
}

/** Returns the name of the object that a level selects, or undefined where it selects none. `root`: the tree's name. */
export function nameAtLevel(level: HierarchyLevel, selectors: Selectors, root: string): string | undefined {
  if (level.name !== undefined) return fillName(level.name, selectors);
  return isSelected(level) ? selectors.get(level.type) : root;
}

/** Returns the name of a compound level with its placeholders filled in, or undefined where a selector is missing. */
function fillName(name: string, selectors: Selectors): string | undefined {
  const parts = partsOf(name).map((part, at) => (isType(at) ? selectors.get(part) : part));
  return parts.includes(undefined) ? undefined : parts.join('');
}

function selectorsOf(level: HierarchyLevel): string[] {
  if (level.name !== undefined) return partsOf(level.name).filter((_, at) => isType(at));
  return isSelected(level) ? [level.type] : [];
}

/** Splits a compound name into text and, at every second place, the type of a placeholder. */
function partsOf(name: string): string[] {
  return name.split(/<<([^<>]*)>>/);
}

function isType(at: number): boolean {
  return at % 2 === 1;
}

function notString(selecting: Layer, type: string, value: RecordValue): Problem {
  const only = typeof value !== 'object' ? String(value) : value.length === 1 ? value[0] : undefined;
  return problemInLayer(selecting, type, {
    code: 'selector_not_string',
    message: `"${type}" selects one ${type} by its name, and ${quote(value)} is ${kindOf(value)}`,
    hint: only === undefined ? 'write one name, or "" to select none' : `write ${quote(only)}`,
  });
}

function kindOf(value: RecordValue): string {
  return typeof value === 'object' ? 'a list' : `a ${typeof value}`;
}

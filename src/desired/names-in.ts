// Lists the names of all objects of a type in a commit, for suggestions. Computed once, since thousands of servers may
// share a mistake.

import { isSameList } from '../base/lists.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { splitAddress } from '../model/address.ts';
import { compareNames, type PlainTypeName } from '../model/names.ts';

/** A type whose names are suggested. */
export type NamedObjects = PlainTypeName | 'stack-template';

const known = new WeakMap<Catalog, ReadonlyMap<string, readonly string[]>>();

/** Returns the names of the objects of a type, sorted: the same list for the same catalog. */
export function namesIn(catalog: Catalog, type: NamedObjects): readonly string[] {
  const byType = known.get(catalog) ?? namesByType(catalog);
  known.set(catalog, byType);
  return byType.get(type) ?? NONE;
}

const NONE: readonly string[] = [];

function namesByType({ objects, templates }: Catalog): ReadonlyMap<string, readonly string[]> {
  const byType = new Map<string, string[]>([['stack-template', [...templates.keys()]]]);
  for (const address of objects.keys()) {
    const [type, name] = splitAddress(address);
    const names = byType.get(type);
    if (names === undefined) byType.set(type, [name]);
    else names.push(name);
  }
  for (const names of byType.values()) names.sort(compareNames);
  return byType;
}

const compared = new WeakMap<readonly string[], WeakMap<readonly string[], boolean>>();

/** Returns true if both lists are equal. Two lists are compared once, however many units read them. */
export function isSameNames(a: readonly string[], b: readonly string[]): boolean {
  if (a === b) return true;
  const withA = compared.get(a) ?? new WeakMap<readonly string[], boolean>();
  compared.set(a, withA);
  const answer = withA.get(b) ?? isSameList(a, b);
  withA.set(b, answer);
  return answer;
}

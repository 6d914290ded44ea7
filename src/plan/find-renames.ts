// Finds servers that a merge deletes under one name and creates under another, which only a person can tell from a
// rename: the same member under another name, a resource under another key, an instance in another file.
import type { Unit } from '../desired/unit.ts';
import { isSame, type Json } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { ChangedUnit } from './changed-servers.ts';
import type { Rename, ServerChange } from './plan.ts';

/** Returns the renames, by instance. */
export function findRenames(changes: readonly ServerChange[], units: readonly ChangedUnit[]): readonly Rename[] {
  const names = { delete: new Set<string>(), create: new Set<string>() };
  for (const { action, resource } of changes) {
    if (action === 'delete' || action === 'create') names[action].add(resource);
  }
  if (names.delete.size === 0 || names.create.size === 0) return [];
  const found = [...renamesWithin(units, names), ...renamedInstances(units, names)];
  return found.sort((a, b) => compareNames(a.instance, b.instance));
}

interface ChangedNames {
  readonly delete: ReadonlySet<string>;
  readonly create: ReadonlySet<string>;
}

function renamesWithin(units: readonly ChangedUnit[], names: ChangedNames): readonly Rename[] {
  return units.flatMap(({ before, after }) => {
    if (before === undefined || after === undefined) return [];
    const [old, now] = [membersOf(before, names.delete), membersOf(after, names.create)];
    const members = [...old].filter(([place]) => now.has(place)).length;
    const keys = members > 0 ? members : renamedKeys({ before, after }, names);
    return keys === 0 ? [] : [{ instance: after.name, into: after.name, deletes: keys, creates: keys }];
  });
}

/** By resource key and index. */
function membersOf({ servers }: Unit, names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const found = [...servers.values()].filter(({ name }) => names.has(name));
  return new Map(found.map(({ key, index, name }) => [`${key} ${index}`, name]));
}

/** Returns how many servers stand under a key that is new, with the indexes of a key that is gone. */
function renamedKeys({ before, after }: { readonly before: Unit; readonly after: Unit }, names: ChangedNames): number {
  const gone = new Set(before.keys).difference(new Set(after.keys));
  const come = new Set(after.keys).difference(new Set(before.keys));
  const [old, now] = [indexMembers(before, gone, names.delete), indexMembers(after, come, names.create)];
  const free = [...now];
  let renamed = 0;
  for (const [, indexes] of old) {
    const at = free.findIndex(([, others]) => isSame(indexes, others));
    if (at < 0) continue;
    renamed += indexes.length;
    free.splice(at, 1);
  }
  return renamed;
}

function indexMembers(
  { servers }: Unit,
  keys: ReadonlySet<string>,
  names: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { key, index, name } of servers.values()) {
    if (keys.has(key) && names.has(name)) found.set(key, [...(found.get(key) ?? []), index ?? '']);
  }
  return found;
}

/** An instance that is gone and a new one that ask for the same, but for the name. */
function renamedInstances(units: readonly ChangedUnit[], names: ChangedNames): readonly Rename[] {
  const gone = units.flatMap(({ before, after }) => (after === undefined && isInstance(before) ? [before] : []));
  const come = units.flatMap(({ before, after }) => (before === undefined && isInstance(after) ? [after] : []));
  const free = new Map<string, Unit[]>();
  for (const unit of come) free.set(contentOf(unit), [...(free.get(contentOf(unit)) ?? []), unit]);
  return gone.flatMap((unit) => {
    const into = free.get(contentOf(unit))?.shift();
    if (into === undefined) return [];
    const deletes = countIn(unit, names.delete);
    const creates = countIn(into, names.create);
    return deletes === 0 || creates === 0 ? [] : [{ instance: unit.name, into: into.name, deletes, creates }];
  });
}

function isInstance(unit: Unit | undefined): unit is Unit {
  return unit?.type === 'stack-instance';
}

/** Returns what an instance asks for, as a text. */
function contentOf({ entry: { object } }: Unit): string {
  const { name: _, description: __, ...rest } = { ...object } as Readonly<Record<string, Json>>;
  return JSON.stringify(rest, (_key, value) => sorted(value as Json));
}

/** Returns a map with its keys in order, so that their order in the file makes no difference. */
function sorted(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => compareNames(a, b)));
}

function countIn({ servers }: Unit, names: ReadonlySet<string>): number {
  return [...servers.keys()].filter((name) => names.has(name)).length;
}

// Reads which group members an instance retires: `resources.<group>.index: ["2"]` in its substractions.
import { below, problemAt } from '../model/entry.ts';
import type { Origin } from '../model/expanded.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { RESOURCE_GROUP } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { quote } from '../model/quote.ts';
import { isIndex } from './group-fields.ts';

/** A retired index and where it is written. */
export interface Retired {
  readonly index: number;
  readonly origin: Origin;
}

/** By resource key. */
export type RetiredIndexes = ReadonlyMap<string, readonly Retired[]>;

interface SplitResources {
  readonly retired: RetiredIndexes;
  /** The same without `index` of groups: what is to be taken away. */
  readonly others: JsonMap;
  readonly problems: readonly Problem[];
}

/** Separates retired indexes from the rest of `substractions.resources`. `origin` is where that map stands. */
export function splitRetired(named: JsonMap, resources: JsonMap, origin: Origin): SplitResources {
  const retired = new Map<string, readonly Retired[]>();
  const others = emptyMap();
  const problems: Problem[] = [];
  for (const [key, value] of Object.entries(named)) {
    if (!isMap(value) || !Object.hasOwn(value, 'index') || !isGroup(resources[key])) {
      others[key] = value;
      continue;
    }
    const { index = null, ...rest } = value;
    // A map that held nothing but the index must not become a leaf, which would remove the whole group.
    if (Object.keys(rest).length > 0) others[key] = rest;
    const read = readIndexes(index, { ...origin, pointer: below(origin.pointer, key, 'index') });
    retired.set(key, read.indexes);
    problems.push(...read.problems);
  }
  return { retired, others, problems };
}

function isGroup(definition: Json | undefined): boolean {
  return isMap(definition) && definition.type === RESOURCE_GROUP;
}

function readIndexes(
  value: Json,
  origin: Origin,
): { readonly indexes: readonly Retired[]; readonly problems: readonly Problem[] } {
  if (!Array.isArray(value)) return { indexes: [], problems: [badIndex(value, origin)] };
  const indexes: Retired[] = [];
  const problems: Problem[] = [];
  value.forEach((item: Json, position) => {
    const at = { ...origin, pointer: below(origin.pointer, position) };
    if (typeof item === 'string' && isIndex(item)) indexes.push({ index: Number(item), origin: at });
    else problems.push(badIndex(item, at));
  });
  return { indexes, problems };
}

function badIndex(value: Json, { entry, pointer }: Origin): Problem {
  return problemAt(entry, pointer, {
    code: 'bad_retired_index',
    message: `index is ${quote(value)}; it must be a list of member numbers as strings`,
    hint: typeof value === 'number' ? `write ["${value}"]` : 'write index: ["2"] to retire member 2',
  });
}
